// Package e2e runs the scenarios of every platform on a deployed stack, and those that only AWS has. `make aws-local-test` deploys the stack on an
// emulator and runs it there; -short runs a few of them.
package e2e
