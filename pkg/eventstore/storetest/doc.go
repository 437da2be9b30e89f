// Package storetest is the contract of package eventstore as tests: Run for a Store, RunPayloads for a PayloadStore. Every
// implementation runs them, so a caller that works with one works with all.
//
// Faults wraps a Committer with the faults of a network: lost requests, lost answers, writes that land late.
package storetest
