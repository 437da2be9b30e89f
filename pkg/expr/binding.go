package expr

import (
	"time"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Binding is the value of a name. The zero Binding is null.
type Binding struct {
	payload workflow.Payload
	ready   any // used unless payload is set
}

// Of binds a payload. What of its references is known can be read; the rest can only be handed on whole.
func Of(p workflow.Payload) Binding { return Binding{payload: p} }

// OfValue binds a canonical JSON value; nil is null.
func OfValue(v workflow.Value) Binding { return Binding{payload: workflow.Payload{JSON: v}} }

// OfString binds a string.
func OfString(s string) Binding { return Binding{ready: s} }

// OfInt binds an int.
func OfInt(i int64) Binding { return Binding{ready: i} }

// OfBool binds a bool.
func OfBool(b bool) Binding { return Binding{ready: b} }

// OfTime binds a timestamp.
func OfTime(t time.Time) Binding { return Binding{ready: t.UTC()} }

// OfDuration binds a duration.
func OfDuration(d time.Duration) Binding { return Binding{ready: d} }

// OfStruct binds an object whose fields are made when they are read, such as `steps` and `execution`. get is asked at most
// once a field; the Binding serves one Activation. fields lists the names, in any order, and is asked when the object is used as a whole; nil forbids that.
func OfStruct(get func(field string) (Binding, bool), fields func() []string) Binding {
	return Binding{ready: &lazy{get: get, fields: fields}}
}

func (b Binding) value() any {
	if b.payload.IsZero() {
		return b.ready
	}
	return decodePayload(b.payload)
}
