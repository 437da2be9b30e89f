// Package harness takes the same figures of every engine. An engine's program implements Engine and calls Main, which
// prints a line of JSON for each figure; the driver in the folder above starts the programs and compares the lines.
//
// It stands in a module of its own, without dependencies, so that the modules of the engines share nothing else.
package harness
