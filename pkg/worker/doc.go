// Package worker is the shell around the engine: it loads an execution, lets the engine decide, stores the decision in one
// conditional write, and only then carries it out. It holds the commit protocol (ARCHITECTURE.md, points 4 to 9, 11 to 13 and
// 16) and nothing of a platform: stores, queues, timers, time and randomness are ports.
//
// Three handlers do the work, each safe to call again with the same message at any time:
//
//   - HandleInbox takes messages to an execution (results, signals, cancels, endings of children, ticks);
//   - HandleTask runs an attempt and, where it can, the ones after it (eager continuation);
//   - Sweep finds executions that should have moved, and sends again what is outstanding.
//
// A handler's answer says whether the message is done with. A message is acknowledged only after its commit is stored and
// that commit's commands are sent; nothing else is ever promised about delivery.
package worker
