// Package cli is the command line: one file a command. Commands write results to standard output and what went wrong to
// standard error, and end with one of the exit codes of exit.go.
package cli
