package codec_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/workflow"
	"github.com/wovyr/wovyr/pkg/workflow/codec"
)

var everyInput = []workflow.Input{
	workflow.Start{}, workflow.ActivityResult{}, workflow.Begin{}, workflow.Claimed{}, workflow.RevokedFound{}, workflow.LeaseExpiry{},
	workflow.Tick{}, workflow.ExternalEvent{}, workflow.TaskDecision{}, workflow.ChildBegun{}, workflow.ChildEnd{}, workflow.Cancel{},
	workflow.OperatorMove{}, workflow.Continue{},
}

func TestInputsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := filled(rapid.SampledFrom(everyInput).Draw(t, "input"), drawn{t})
		text, err := codec.EncodeInput(want)
		require.NoError(t, err)
		got, err := codec.DecodeInput(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

func TestInputsThatCannotBeRead(t *testing.T) {
	newer, corrupt := (*codec.NewerError)(nil), (*codec.CorruptError)(nil)
	for _, text := range []string{`{"type":"Wish","data":{}}`, `{"type":"Tick","data":{"odd":1}}`, `{"type":"Tick","data":{},"odd":1}`} {
		_, err := codec.DecodeInput([]byte(text))
		require.ErrorAs(t, err, &newer, text)
	}
	for _, text := range []string{``, `7`, `{"type":"Tick"`, `{"type":"Tick","data":7}`, `{"type":"Tick","data":{}}{}`} {
		_, err := codec.DecodeInput([]byte(text))
		require.ErrorAs(t, err, &corrupt, text)
	}
}
