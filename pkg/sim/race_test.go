//go:build race

package sim_test

// Under the race detector everything is an order of magnitude slower, and a simulation has one thread at a time.
const usualSeeds = 50
