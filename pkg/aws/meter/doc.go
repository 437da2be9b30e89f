// Package meter counts what calls of AWS cost: requests, and the units that AWS bills, for each execution and step. It is middleware of the
// SDK; a table of prices makes dollars of the units.
//
// DynamoDB is asked for the units that each request took, secondary indexes included; where it does not say (a condition that failed, an
// emulator that does not count), the sizes of items tell. What AWS does on our behalf passes no middleware: polling of queues, invocations,
// run time. Whoever measures adds that with Add.
package meter
