//go:build !race

package sim_test

const usualSeeds = 1000
