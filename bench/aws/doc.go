// Package aws measures what executions cost on AWS and how long they take in the latency model, by the real functions on an emulator
// (internal/deployment). `make bench-aws` prints the tables of docs/cost.md; the tests hold the ceilings.
package aws
