// Package aws is the platform on AWS: the worker's ports on SQS and EventBridge Scheduler, and the handlers of its Lambda functions. The worker
// is the same as on one machine; nothing here decides anything about a workflow.
//
//	orchestrator   the inbox (SQS FIFO, a group for each execution)   → worker.HandleInbox
//	activity       the tasks of a worker class (SQS)                  → worker.HandleTask
//	timer          timers that are due (SQS), the sweep each minute   → a tick in the inbox; worker.Sweep
//	publisher      the stream of the history table; events from outside → the index, the event bus, metrics; worker.Publish
//	api            API Gateway                                        → pkg/api
//
// Each function is one call of a Handler of a Platform, which Setup makes of the environment (package stack names its variables). A user's
// own activities are a function of the same form, a worker class that answers to the inbox and can write no history (commit protocol, point 15).
package aws
