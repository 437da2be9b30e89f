// Package api is the HTTP API of a Wovyr server: JSON in and out, the same on every platform. Package client has the types that it speaks.
//
// It knows a worker, for reads and starts, and a way to hand inputs to executions: on one machine that waits until they are decided,
// elsewhere until they are safe with a queue.
package api
