// Package sqlite is the event store of one machine: one SQLite file in a folder that one process owns. Pure Go, no server.
//
// Durability: WAL with synchronous FULL, so a method that wrote returns after the disk has it; a killed process or a lost
// power supply loses nothing that was answered. Writers that come at the same time share a transaction and its fsync (group
// commit), across executions and kinds of writes: nobody waits for a batch to fill, the next one gathers while the disk works.
//
// One connection writes, a few read, each without database/sql. The row of an execution in the index is written in the
// transaction of its commit, so it never lags. docs/store.md has the schema, the guarantees and the figures.
//
// Start at Open. Payloads are in package folder.
package sqlite
