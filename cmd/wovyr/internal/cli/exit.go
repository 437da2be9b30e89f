package cli

import "errors"

// The exit codes.
const (
	exitOK      = 0
	exitFailed  = 1 // a test failed, or the machine did: a result could not be written
	exitRefused = 2 // a document is refused, a file cannot be read, or the command was used wrongly
)

// errRefused ends a command whose findings are printed already.
var errRefused = errors.New("refused")

// errTestsFailed ends `wovyr test` when a test failed; the report is printed already.
var errTestsFailed = errors.New("tests failed")

// failure is an error of the machine, not of the user.
type failure struct{ err error }

func (f failure) Error() string { return f.err.Error() }
func (f failure) Unwrap() error { return f.err }

// codeOf gives the exit code of a command's error.
func codeOf(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, new(failure)), errors.Is(err, errTestsFailed):
		return exitFailed
	}
	return exitRefused
}
