// Package deployment runs the real functions of the AWS platform in one process, against an emulator, in virtual time: what an execution
// costs and how long it takes is then counted, and does not depend on the machine.
//
// The handlers are those of pkg/aws, each function with sandboxes of its own, and every call of a service is made: tables, queues, bucket and
// bus are those of an emulator. This package plays what is AWS's own part, with the stack's numbers: the event source mappings of queues and of
// the history's stream, the delays of messages, the firing of entries of EventBridge Scheduler, and the API in front. It meters what the
// handlers call (package meter), and what AWS bills around them: receives and deletes of the mappings, requests and time of the functions.
//
// A run lives in a bubble of testing/synctest. Real calls are carried out of it by hands that were there before, so that they take no virtual
// time; what a call takes on AWS, by figures.go, is slept instead. Durations of two runs differ by chance only.
package deployment
