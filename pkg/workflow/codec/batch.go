package codec

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Batch is what one commit stores.
type Batch struct {
	// At is the time of the decision in nanoseconds since 1970 UTC, the same for all its events.
	At int64 `json:"at"`
	// Workflow, Correlation and Worker are constant in all records of the batch; its execution is that of the stream.
	Workflow    string `json:"workflow"`
	Correlation string `json:"correlation,omitempty"`
	Worker      string `json:"worker,omitempty"`
	// Causes are the IDs of the inputs that led to the decision (causationId).
	Causes []string `json:"causes,omitempty"`
	// Events are in order; the first has the sequence number under which the commit is stored.
	Events []workflow.Event `json:"events"`
	// State is the state after the last event, in a commit that is a checkpoint. One that is too large for a commit stands in
	// the payload store, encoded by EncodeState: then StateRef names it instead.
	State    *workflow.State `json:"state,omitempty"`
	StateRef string          `json:"state_ref,omitempty"`
}

// Recorded gives the events their places; first is the sequence number of the first.
func (b *Batch) Recorded(first uint64) []workflow.Recorded {
	out := make([]workflow.Recorded, len(b.Events))
	for i, e := range b.Events {
		out[i] = workflow.Recorded{Version: first + uint64(i), At: b.At, Event: e}
	}
	return out
}

// Serializer is one form of batches. Encoding is deterministic: equal batches have equal bytes.
type Serializer interface {
	Encode(b *Batch) ([]byte, error)
	// Decode returns a *NewerError or *CorruptError for what it cannot read.
	Decode(data []byte) (*Batch, error)
}

// Decode reads a batch in whatever form it was written.
func Decode(data []byte) (*Batch, error) {
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '{' {
		return JSON{}.Decode(data)
	}
	return CBOR{}.Decode(data)
}

// NewerError says that a batch was written by a newer program. It is transient: another worker may know it.
type NewerError struct {
	What string
}

// Error says what to do.
func (e *NewerError) Error() string {
	return fmt.Sprintf("codec: the history holds %s, which is newer than this program: update the program", e.What)
}

// CorruptError says that bytes are no batch.
type CorruptError struct {
	Err error
}

// Error names the cause.
func (e *CorruptError) Error() string { return fmt.Sprintf("codec: the bytes are no batch: %v", e.Err) }

// Unwrap gives the cause.
func (e *CorruptError) Unwrap() error { return e.Err }

var errNoEvents = errors.New("it holds no event")

// check refuses what must never be written.
func (b *Batch) check() error {
	if len(b.Events) == 0 {
		return errNoEvents
	}
	for i, e := range b.Events {
		if e == nil {
			return fmt.Errorf("event %d is nil", i)
		}
	}
	return nil
}
