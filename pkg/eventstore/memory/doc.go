// Package memory is the event store in memory: for tests, for the simulator and for runs that need not last. It keeps the whole
// contract of package eventstore but durability, and is deterministic: no clock, no goroutine, no order that comes from a map.
//
// Start at New and NewPayloads.
package memory
