// Package chaos runs a deployed stack under faults, and looks afterwards whether everything that was promised is kept. Between its functions and the
// emulator stands a proxy (internal/awsproxy) that throttles, fails, cuts, delays and repeats their calls and kills their processes; the stream of the history
// is read by the test itself, with repeats and in pieces; every queue gets a message that is none. Executions of all sorts run meanwhile, and their
// steps leave their idempotency keys with a server of the test, which counts from outside what was done. docs/reliability.md says what is checked.
//
// `make aws-chaos` deploys a stack and runs it; -short is one seed, as in `make test`.
package chaos
