package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// JSON is the form for people and tools: the fields of Batch by name, each event as {"type", "data"}. Its names are as stable as
// the numbers of CBOR.
type JSON struct{}

type jsonBatch struct {
	Batch
	Events []jsonEvent `json:"events"`
}

type jsonEvent struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

// Encode implements Serializer.
func (JSON) Encode(b *Batch) ([]byte, error) {
	if err := b.check(); err != nil {
		return nil, fmt.Errorf("codec: encode: %w", err)
	}
	out := jsonBatch{Batch: *b}
	for _, e := range b.Events {
		data, err := marshal(e)
		if err != nil {
			return nil, fmt.Errorf("codec: encode %s: %w", e.Type(), err)
		}
		out.Events = append(out.Events, jsonEvent{Type: e.Type().String(), Data: data})
	}
	text, err := marshal(out)
	if err != nil {
		return nil, fmt.Errorf("codec: encode: %w", err)
	}
	return text, nil
}

// marshal is json.Marshal without the escapes for HTML: values stay as they were made canonical.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Decode implements Serializer.
func (JSON) Decode(data []byte) (*Batch, error) {
	var in jsonBatch
	if err := unmarshal(data, &in); err != nil {
		return nil, jsonError(err)
	}
	b := in.Batch
	b.Events = nil
	for _, e := range in.Events {
		event, err := eventOf(e)
		if err != nil {
			return nil, err
		}
		b.Events = append(b.Events, event)
	}
	if err := b.check(); err != nil {
		return nil, &CorruptError{Err: err}
	}
	return &b, nil
}

func eventOf(e jsonEvent) (workflow.Event, error) {
	var t workflow.EventType
	if err := t.UnmarshalText([]byte(e.Type)); err != nil {
		return nil, &NewerError{What: fmt.Sprintf("an event of type %q", e.Type)}
	}
	event, err := decodeEvent(t, func(v any) error { return unmarshal(e.Data, v) })
	if err != nil {
		return nil, jsonError(err)
	}
	return event, nil
}

func unmarshal(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("something follows the batch")
	}
	return nil
}

func jsonError(err error) error {
	var newer *NewerError
	if errors.As(err, &newer) {
		return err
	}
	// encoding/json has no type for this one.
	if strings.HasPrefix(err.Error(), "json: unknown field") {
		return &NewerError{What: strings.TrimPrefix(err.Error(), "json: unknown ")}
	}
	return &CorruptError{Err: err}
}
