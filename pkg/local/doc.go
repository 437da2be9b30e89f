// Package local is the platform for one machine: the worker of package worker with queues and timers in this process, on an embedded
// store. Nothing in memory needs to survive: at the start everything that was on its way is found again from the rows of the
// index, and inputs from outside are answered only after they are stored.
//
// Memory holds what is at work and the timers of the next few minutes; an execution that waits is a row on disk.
package local
