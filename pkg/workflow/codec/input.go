package codec

import (
	"encoding/json"
	"fmt"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// inputs has the decoder of each type of input, by its name on the wire.
var inputs = map[string]func(data []byte) (workflow.Input, error){
	"Start":          in[workflow.Start],
	"ActivityResult": in[workflow.ActivityResult],
	"Begin":          in[workflow.Begin],
	"Claimed":        in[workflow.Claimed],
	"RevokedFound":   in[workflow.RevokedFound],
	"LeaseExpiry":    in[workflow.LeaseExpiry],
	"Tick":           in[workflow.Tick],
	"ExternalEvent":  in[workflow.ExternalEvent],
	"TaskDecision":   in[workflow.TaskDecision],
	"ChildBegun":     in[workflow.ChildBegun],
	"ChildEnd":       in[workflow.ChildEnd],
	"Cancel":         in[workflow.Cancel],
	"OperatorMove":   in[workflow.OperatorMove],
	"Continue":       in[workflow.Continue],
}

func in[T workflow.Input](data []byte) (workflow.Input, error) {
	var v T
	if err := unmarshal(data, &v); err != nil {
		return nil, err
	}
	return v, nil
}

type jsonInput struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

// EncodeInput writes an input as messages carry it: {"type", "data"}.
func EncodeInput(input workflow.Input) ([]byte, error) {
	data, err := marshal(input)
	if err != nil {
		return nil, fmt.Errorf("codec: encode %s: %w", input.InputType(), err)
	}
	return marshal(jsonInput{Type: input.InputType(), Data: data})
}

// DecodeInput reads what EncodeInput wrote. The error is a *NewerError for an input that this program does not know, else a
// *CorruptError.
func DecodeInput(text []byte) (workflow.Input, error) {
	var e jsonInput
	if err := unmarshal(text, &e); err != nil {
		return nil, jsonError(err)
	}
	decode, ok := inputs[e.Type]
	if !ok {
		return nil, &NewerError{What: fmt.Sprintf("an input of type %q", e.Type)}
	}
	input, err := decode(e.Data)
	if err != nil {
		return nil, jsonError(err)
	}
	return input, nil
}
