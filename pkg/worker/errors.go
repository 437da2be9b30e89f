package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow/codec"
)

// ErrContended says that a decision was made as often as Limits allow, and somebody else always wrote first.
var ErrContended = errors.New("worker: others keep writing to the execution")

// ErrNoExecution says that there is no execution of that ID.
var ErrNoExecution = errors.New("worker: there is no execution of that ID")

// EndedError says that an input came too late: the execution has ended, and nothing changes it any more.
type EndedError struct {
	Execution string
	// Status is Completed, Failed or Cancelled; Outcome as Outcome tells it.
	Status, Outcome string
}

// Error says how it ended.
func (e *EndedError) Error() string {
	return fmt.Sprintf("execution %s has ended: %s", e.Execution, e.Outcome)
}

// Passing reports whether an error says nothing about the message that met it: the store was away, others wrote, a newer program is
// needed, the worker stops. A queue does not count such a failure against the message.
func Passing(err error) bool {
	var newer *codec.NewerError
	return errors.Is(err, eventstore.ErrUnavailable) || errors.Is(err, eventstore.ErrUnknownOutcome) || errors.Is(err, ErrContended) ||
		errors.Is(err, eventstore.ErrClosed) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &newer)
}

// PanicError is a panic while a message was handled. The message comes back, and in the end becomes a dead letter.
type PanicError struct {
	Value any
	Stack string
}

// Error names the value.
func (e *PanicError) Error() string {
	return fmt.Sprintf("worker: a panic while the message was handled: %v", e.Value)
}

// caught turns what recover returned into an error. Only a value with a method Fatal() goes on: it means to take the process down (a
// simulated crash does).
func caught(p any) error {
	if p == nil {
		return nil
	}
	if _, fatal := p.(interface{ Fatal() }); fatal {
		panic(p)
	}
	return &PanicError{Value: p, Stack: string(debug.Stack())}
}

// fitName is a name as a store takes it: itself, or its hash where it is too long or no text.
func fitName(name string) string {
	if name != "" && len(name) <= eventstore.MaxName && strings.ToValidUTF8(name, "") == name {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// cut shortens a text to what a store takes.
func cut(text string, limit int) string {
	return strings.ToValidUTF8(text[:min(len(text), limit)], "")
}
