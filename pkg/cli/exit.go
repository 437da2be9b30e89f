package cli

import (
	"errors"

	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/eventstore/sqlite"
)

// The exit codes.
const (
	exitOK          = 0
	exitFailed      = 1   // the execution failed, was cancelled or compensated; or the machine failed
	exitRefused     = 2   // a document is refused, a file cannot be read, or the command was used wrongly: nothing was started
	exitUnreachable = 3   // no server answers
	exitInterrupted = 130 // Ctrl-C
)

var (
	// errRefused ends a command whose findings are printed already.
	errRefused = errors.New("refused")
	// errNotCompleted ends a command whose execution did not complete, which its output says.
	errNotCompleted = errors.New("not completed")
	// errTestsFailed ends `wovyr test` when a test failed; the report is printed already.
	errTestsFailed = errors.New("tests failed")
	// errInterrupted ends a command after Ctrl-C.
	errInterrupted = errors.New("interrupted")
)

// failure is an error of the machine, not of the user.
type failure struct{ err error }

func (f failure) Error() string { return f.err.Error() }
func (f failure) Unwrap() error { return f.err }

// misuse is an error of using the command, so that its help may help.
type misuse struct{ error }

func (m misuse) Unwrap() error { return m.error }

// silent reports that everything about an error has been said.
func silent(err error) bool {
	return errors.Is(err, errRefused) || errors.Is(err, errNotCompleted) || errors.Is(err, errInterrupted) || errors.Is(err, errTestsFailed)
}

// advice is what to do about a problem that a server reports, in the words of this program. The server speaks of addresses.
var advice = map[string]string{
	"task.closed":        "list the open ones: wovyr task list",
	"execution.unknown":  "list what there is: wovyr list",
	"execution.open":     "redrive goes on where an execution has ended: wovyr cancel it first, or wait",
	"workflow.unknown":   "wovyr deploy FILE",
	"deadletter.unknown": "list what there is: wovyr deadletters list",
}

// inOurWords is an error as this program says it.
func inOurWords(err error) error {
	var p *client.Problem
	if !errors.As(err, &p) || advice[p.Code] == "" {
		return err
	}
	own := *p
	own.Detail = advice[p.Code]
	return &own
}

// brokenHistory turns the finding that a history is broken into a failure.
func brokenHistory(err error) error {
	if p := (*client.Problem)(nil); errors.As(err, &p) && p.Code == "history.corrupt" {
		return failure{err}
	}
	return err
}

// diskFault reports whether the disk is to blame for an error, or whoever wrote into the store's file.
func diskFault(err error) bool {
	return errors.As(err, new(*sqlite.DamagedError)) || errors.As(err, new(*sqlite.DiskFullError)) || errors.As(err, new(*sqlite.BrokenError))
}

// codeOf gives the exit code of a command's error.
func codeOf(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, client.ErrUnreachable):
		return exitUnreachable
	case errors.Is(err, errNotCompleted), errors.Is(err, errTestsFailed), errors.As(err, new(failure)), diskFault(err):
		return exitFailed
	}
	return exitRefused
}
