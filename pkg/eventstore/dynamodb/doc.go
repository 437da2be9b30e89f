// Package dynamodb is the event store on AWS: it implements eventstore.Store on three DynamoDB tables (package schema). A commit is one
// conditional put, and nothing in the normal path is a transaction (commit protocol, points 1 to 3, 6, 12 and 13).
//
// The index follows by the stream of the history table: each commit's item carries the execution's row as of that commit, the publisher
// decodes it with ReadChange and puts the newest of each execution with PutNewest. Rebuild compares it with the histories and puts right what differs.
//
// How items lie in the tables is described in docs/adr/0011-items-in-dynamodb.md. Payloads are in package s3.
package dynamodb
