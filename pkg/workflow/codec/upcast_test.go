package codec

import (
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// TestUpcast reads a batch of version 1 by a program of version 3, in which ActivityReady was first renamed in its field
// and then became another event.
func TestUpcast(t *testing.T) {
	data, err := CBOR{}.Encode(&Batch{At: 1, Workflow: "w", Events: []workflow.Event{workflow.ActivityReady{Step: "a"}, workflow.WorkflowValidated{}}})
	require.NoError(t, err)
	ups := []upcast{nil, nil,
		func(t workflow.EventType, event cbor.RawMessage) (workflow.EventType, cbor.RawMessage, error) {
			if t != workflow.TypeActivityReady {
				return t, event, nil
			}
			var fields map[int]any
			if err := cbor.Unmarshal(event, &fields); err != nil {
				return 0, nil, err
			}
			fields[1] = fields[1].(string) + "/renamed"
			out, err := cbor.Marshal(fields)
			return t, out, err
		},
		func(t workflow.EventType, event cbor.RawMessage) (workflow.EventType, cbor.RawMessage, error) {
			if t == workflow.TypeActivityReady {
				t = workflow.TypeTimerFired
			}
			return t, event, nil
		},
	}
	b, err := decodeCBOR(data, ups)
	require.NoError(t, err)
	require.Equal(t, []workflow.Event{workflow.TimerFired{Step: "a/renamed"}, workflow.WorkflowValidated{}}, b.Events)

	ups[3] = func(workflow.EventType, cbor.RawMessage) (workflow.EventType, cbor.RawMessage, error) {
		return 0, nil, cbor.Unmarshal([]byte{0xff}, new(int))
	}
	_, err = decodeCBOR(data, ups)
	var corrupt *CorruptError
	require.ErrorAs(t, err, &corrupt)
}
