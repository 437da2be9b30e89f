// Package porttest is the contract of a worker's ports (package worker, ports.go) as tests: Run for all of them, RunInbox, RunTasks,
// RunTimers, RunClock and RunEntropy for one. Every platform runs them, so a worker that is right on one is right on all.
//
// The suite stands where the worker would: the platform hands it what its queues hand out, and the suite answers. It takes platforms as they
// are: with virtual or real time, exactly once or at least once, with a visibility timeout or without. Traits say which, and what a
// platform does not promise is not asked of it. What every platform must keep is checked in each test, whatever else it is about: see
// book.verify.
package porttest
