package codec

import (
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// CBOR is the form of histories. A batch is the array
//
//	[version, at, workflow, correlation, worker, [cause…], [type, event, type, event…], state or null, reference of the state or ""]
//
// in which events and state are maps by the numbers of the cbor tags, without the fields that are zero.
type CBOR struct{}

// Version is the version of CBOR batches that this program writes.
const Version = 1

// upcast brings one event of the version before up to a version: it may change its type and its fields.
type upcast func(t workflow.EventType, event cbor.RawMessage) (workflow.EventType, cbor.RawMessage, error)

// upcasts has, by version, the step that leads up to it. There is none yet: version 1 is the first.
var upcasts = [Version + 1]upcast{}

// Bounds of what is decoded. They are far above what a commit may hold, and stop bytes that are not ours.
const (
	maxNested   = 256
	maxElements = 1 << 20
)

var (
	encMode = must(cbor.EncOptions{
		Sort:            cbor.SortCoreDeterministic,
		ShortestFloat:   cbor.ShortestFloat16,
		NaNConvert:      cbor.NaNConvert7e00,
		InfConvert:      cbor.InfConvertFloat16,
		IndefLength:     cbor.IndefLengthForbidden,
		TagsMd:          cbor.TagsForbidden,
		BigIntConvert:   cbor.BigIntConvertReject,
		NilContainers:   cbor.NilContainerAsEmpty,
		BinaryMarshaler: cbor.BinaryMarshalerByteString,
	}.EncMode())
	decMode = must(cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		UTF8:              cbor.UTF8RejectInvalid,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		MaxNestedLevels:   maxNested,
		MaxArrayElements:  maxElements,
		MaxMapPairs:       maxElements,
		BinaryUnmarshaler: cbor.BinaryUnmarshalerByteString,
	}.DecMode())
)

func must[T any](mode T, err error) T {
	if err != nil {
		panic(err) // the options above are constant
	}
	return mode
}

type written struct {
	_           struct{} `cbor:",toarray"`
	Version     uint
	At          int64
	Workflow    string
	Correlation string
	Worker      string
	Causes      []string
	Events      []any
	State       *workflow.State
	StateRef    string
}

type read struct {
	_           struct{} `cbor:",toarray"`
	Version     uint
	At          int64
	Workflow    string
	Correlation string
	Worker      string
	Causes      []string
	Events      []cbor.RawMessage
	State       *workflow.State
	StateRef    string
}

// Encode implements Serializer.
func (CBOR) Encode(b *Batch) ([]byte, error) {
	if err := b.check(); err != nil {
		return nil, fmt.Errorf("codec: encode: %w", err)
	}
	w := written{Version: Version, At: b.At, Workflow: b.Workflow, Correlation: b.Correlation, Worker: b.Worker, Causes: b.Causes,
		Events: make([]any, 0, 2*len(b.Events)), State: b.State, StateRef: b.StateRef}
	for _, e := range b.Events {
		w.Events = append(w.Events, e.Type(), e)
	}
	data, err := encMode.Marshal(&w)
	if err != nil {
		return nil, fmt.Errorf("codec: encode: %w", err)
	}
	return data, nil
}

// EncodeState writes a state alone, for the payload store.
func EncodeState(s *workflow.State) ([]byte, error) {
	data, err := encMode.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("codec: encode state: %w", err)
	}
	return data, nil
}

// DecodeState reads what EncodeState wrote.
func DecodeState(data []byte) (*workflow.State, error) {
	var s workflow.State
	if err := decMode.Unmarshal(data, &s); err != nil {
		return nil, readError(err)
	}
	return &s, nil
}

// Decode implements Serializer.
func (CBOR) Decode(data []byte) (*Batch, error) { return decodeCBOR(data, upcasts[:]) }

// decodeCBOR reads a batch of any version up to that of the last of ups.
func decodeCBOR(data []byte, ups []upcast) (*Batch, error) {
	version, err := versionOf(data)
	if err != nil {
		return nil, &CorruptError{Err: err}
	}
	if version >= uint(len(ups)) {
		return nil, &NewerError{What: fmt.Sprintf("a batch of version %d", version)}
	}
	var r read
	if err := decMode.Unmarshal(data, &r); err != nil {
		return nil, readError(err)
	}
	b := &Batch{At: r.At, Workflow: r.Workflow, Correlation: r.Correlation, Worker: r.Worker, Causes: r.Causes, State: r.State, StateRef: r.StateRef,
		Events: make([]workflow.Event, 0, len(r.Events)/2)}
	if len(r.Events)%2 != 0 {
		return nil, &CorruptError{Err: errors.New("an event has no type")}
	}
	for i := 0; i < len(r.Events); i += 2 {
		e, err := readEvent(r.Events[i], r.Events[i+1], ups[version+1:])
		if err != nil {
			return nil, err
		}
		b.Events = append(b.Events, e)
	}
	if err := b.check(); err != nil {
		return nil, &CorruptError{Err: err}
	}
	return b, nil
}

// versionOf reads the first element of the array alone: later ones of another version may not fit.
func versionOf(data []byte) (uint, error) {
	if len(data) < 2 || data[0]&0xe0 != 0x80 {
		return 0, errors.New("they do not begin with a CBOR array")
	}
	var version uint
	_, err := decMode.UnmarshalFirst(data[1:], &version)
	if err == nil && version == 0 {
		err = errors.New("there is no version 0")
	}
	return version, err
}

func readEvent(code, body cbor.RawMessage, ups []upcast) (workflow.Event, error) {
	var t workflow.EventType
	if err := decMode.Unmarshal(code, &t); err != nil {
		return nil, readError(err)
	}
	for _, up := range ups {
		var err error
		if t, body, err = up(t, body); err != nil {
			return nil, readError(err)
		}
	}
	e, err := decodeEvent(t, func(v any) error { return decMode.Unmarshal(body, v) })
	if err != nil {
		return nil, readError(err)
	}
	return e, nil
}

// readError tells what a newer program wrote from what nobody wrote.
func readError(err error) error {
	var newer *NewerError
	if errors.As(err, &newer) {
		return err
	}
	var unknown *cbor.UnknownFieldError
	if errors.As(err, &unknown) {
		return &NewerError{What: "a field that this program does not know (" + err.Error() + ")"}
	}
	return &CorruptError{Err: err}
}
