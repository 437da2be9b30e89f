// Package machine is the clock and the entropy of the machine that a worker runs on, for platforms in real time.
package machine
