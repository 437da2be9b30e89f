package worker

import (
	"encoding/json"
	"fmt"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// eventBody is what a content event's bytes hold.
type eventBody struct {
	Type string           `json:"type"`
	Key  string           `json:"key,omitempty"`
	From string           `json:"from,omitempty"`
	Data workflow.Payload `json:"data"`
	// Number is that under the event's key, in the topic of all keys.
	Number uint64 `json:"number,omitempty"`
}

func encodeEvent(e Event, keyed uint64) ([]byte, error) {
	body, err := json.Marshal(eventBody{Type: e.Type, Key: e.Key, From: e.From, Data: e.Data, Number: keyed})
	if err != nil {
		return nil, fmt.Errorf("worker: encode event %s: %w", e.ID, err)
	}
	if len(body) > eventstore.MaxEventData || len(e.Data.JSON) > engine.MaxValue {
		return nil, fmt.Errorf("%w (%d bytes)", ErrEventTooLarge, len(body))
	}
	return body, nil
}

// decodeEvent makes the engine's input of a kept event, with its number in the topic that it was read from.
func decodeEvent(e eventstore.Event, ofType bool) (workflow.ExternalEvent, error) {
	var body eventBody
	if err := json.Unmarshal(e.Data, &body); err != nil {
		return workflow.ExternalEvent{}, fmt.Errorf("worker: event %s: %w", e.ID, err)
	}
	in := workflow.ExternalEvent{EarlyEvent: workflow.EarlyEvent{ID: e.ID, Kind: body.Type, Key: body.Key, Source: e.Source, From: body.From, Data: body.Data, ReceivedAt: e.At}}
	if ofType {
		in.KindNumber, in.Number = e.Number, body.Number
	} else {
		in.Number = e.Number
	}
	return in, nil
}
