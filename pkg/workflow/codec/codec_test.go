package codec_test

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/workflow"
	"github.com/wovyr/wovyr/pkg/workflow/codec"
)

var update = flag.Bool("update", false, "write the golden files anew")

var forms = map[string]codec.Serializer{"cbor": codec.CBOR{}, "json": codec.JSON{}}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run the test with -update to make the file")
	require.Equal(t, string(want), got)
}

func TestEveryEventTypeHasASample(t *testing.T) {
	var want, got []workflow.EventType
	for i := range workflow.EventTypes {
		if e := workflow.EventType(i); e.Known() {
			want = append(want, e)
		}
	}
	for _, e := range everyEvent {
		got = append(got, e.Type())
	}
	slices.Sort(got)
	require.Equal(t, want, got)
}

// TestGoldenBytes pins the encoding of each event, bare and full: what is written today must be read for ever.
func TestGoldenBytes(t *testing.T) {
	var text strings.Builder
	for _, sample := range everyEvent {
		for _, e := range []workflow.Event{sample, filled(sample, &counter{})} {
			b := &codec.Batch{At: 1, Workflow: "w", Events: []workflow.Event{e}}
			data, err := codec.CBOR{}.Encode(b)
			require.NoError(t, err)
			fmt.Fprintf(&text, "%s %s\n", e.Type(), hex.EncodeToString(data))
		}
	}
	golden(t, "testdata/events.golden", text.String())
}

// TestGoldenBytesAreRead decodes the golden bytes themselves and expects the events that they were made of.
func TestGoldenBytesAreRead(t *testing.T) {
	text, err := os.ReadFile("testdata/events.golden")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.Len(t, lines, 2*len(everyEvent))
	for i, sample := range everyEvent {
		for j, want := range []workflow.Event{sample, filled(sample, &counter{})} {
			name, digits, _ := strings.Cut(lines[2*i+j], " ")
			data, err := hex.DecodeString(digits)
			require.NoError(t, err)
			b, err := codec.Decode(data)
			require.NoError(t, err, name)
			require.Equal(t, []workflow.Event{want}, b.Events, name)
		}
	}
}

// TestFieldNumbers pins the number of each field: a number may be added, and never given another meaning.
func TestFieldNumbers(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var lines []string
	var walk func(t reflect.Type)
	walk = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice:
			walk(typ.Elem())
		case reflect.Struct:
			if seen[typ] || !strings.HasSuffix(typ.PkgPath(), "pkg/workflow") {
				return
			}
			seen[typ] = true
			numbers := map[string]bool{}
			for i := range typ.NumField() {
				f := typ.Field(i)
				number, options, _ := strings.Cut(f.Tag.Get("cbor"), ",")
				if number == "-" {
					continue
				}
				require.Contains(t, options, "keyasint", "%s.%s needs a number: `cbor:\"…,keyasint,omitempty\"`", typ.Name(), f.Name)
				require.Contains(t, options, "omit", "%s.%s must be left out when it is zero", typ.Name(), f.Name)
				require.False(t, numbers[number], "%s.%s has the number of another field", typ.Name(), f.Name)
				numbers[number] = true
				lines = append(lines, fmt.Sprintf("%s %s %s %s", typ.Name(), number, f.Name, f.Type))
				walk(f.Type)
			}
		}
	}
	for _, e := range everyEvent {
		walk(reflect.TypeOf(e))
	}
	walk(reflect.TypeFor[workflow.State]())
	slices.Sort(lines)
	golden(t, "testdata/fields.golden", strings.Join(lines, "\n")+"\n")
}

type drawn struct{ *rapid.T }

func (d drawn) number(label string, below int) int {
	return rapid.IntRange(0, below-1).Draw(d.T, label)
}

func TestRoundTrip(t *testing.T) {
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				b := &codec.Batch{At: rapid.Int64().Draw(t, "at"), Workflow: "order", Correlation: "c", Worker: "w1", Causes: []string{"m1"}}
				for _, e := range rapid.SliceOfN(rapid.SampledFrom(everyEvent), 1, 4).Draw(t, "events") {
					if rapid.Bool().Draw(t, "full") {
						e = filled(e, drawn{t})
					}
					b.Events = append(b.Events, e)
				}
				if rapid.Bool().Draw(t, "checkpoint") {
					b.State = new(filled(workflow.State{}, drawn{t}))
				}
				if rapid.Bool().Draw(t, "elsewhere") {
					b.StateRef = "sha256:ab:1"
				}
				data, err := form.Encode(b)
				require.NoError(t, err)
				again, err := form.Encode(b)
				require.NoError(t, err)
				require.Equal(t, data, again, "one content has one encoding")
				back, err := codec.Decode(data)
				require.NoError(t, err)
				require.Equal(t, b, back)
			})
		})
	}
}

// TestUsualStepFitsOneWriteUnit: the result of a step of 256 bytes and the start of the next with an input of 256 bytes, in
// one commit of at most 1,024 bytes, that a store bills as one unit.
func TestUsualStepFitsOneWriteUnit(t *testing.T) {
	value := func(c string) workflow.Payload {
		return workflow.Inline(workflow.Value(`"` + strings.Repeat(c, 254) + `"`))
	}
	b := &codec.Batch{At: 1_764_460_800_123_456_789, Workflow: "order-fulfilment", Correlation: "7b0f6f0e-4a44-4a0e-b9cc-0f5a4b3a1c55",
		Worker: "orchestrator-5f7c9d/4f1d2c3b", Causes: []string{"7b0f6f0e-4a44-4a0e-b9cc-0f5a4b3a1c56"},
		Events: []workflow.Event{
			workflow.ActivityCompleted{Step: "reserve_inventory", Output: value("o")},
			workflow.ActivityReady{Step: "charge_payment"},
			workflow.ActivityScheduled{Step: "charge_payment", Attempt: 1, Fence: 1, By: "7b0f6f0e-4a44-4a0e-b9cc-0f5a4b3a1c56", Input: value("i")},
			workflow.ActivityStarted{Step: "charge_payment", Fence: 1, Worker: "orchestrator-5f7c9d/4f1d2c3b", By: "7b0f6f0e-4a44-4a0e-b9cc-0f5a4b3a1c56",
				LeaseUntil: 1_764_460_830_123_456_789, TimeoutAt: 1_764_460_830_123_456_789},
		}}
	data, err := codec.CBOR{}.Encode(b)
	require.NoError(t, err)
	t.Logf("%d bytes", len(data))
	const beside = 120 // what the store keeps beside the data: numbers, nonce, hash (its key not counted)
	require.LessOrEqual(t, len(data)+beside, 1024)
}

func TestRefusesWhatItCannotRead(t *testing.T) {
	good, err := codec.CBOR{}.Encode(&codec.Batch{At: 1, Workflow: "w", Events: []workflow.Event{workflow.ActivityReady{Step: "a"}}})
	require.NoError(t, err)
	encode := func(v any) []byte {
		data, err := cbor.Marshal(v)
		require.NoError(t, err)
		return data
	}
	batch := func(version int, events ...any) []byte {
		return encode([]any{version, 1, "w", "", "", []string{}, events, nil, ""})
	}
	for _, c := range []struct {
		name  string
		data  []byte
		newer bool
	}{
		{"nothing", nil, false},
		{"noise", []byte("noise"), false},
		{"cut off", good[:len(good)-3], false},
		{"something behind it", append(bytes.Clone(good), 0), false},
		{"no version", batch(0, 20, map[int]any{1: "a"}), false},
		{"a newer version", batch(codec.Version+1, 20, map[int]any{1: "a"}), true},
		{"a newer event", batch(1, 250, map[int]any{}), true},
		{"an event of a type that never was", batch(1, 19, map[int]any{}), true},
		{"a newer field", batch(1, 20, map[int]any{1: "a", 99: 1}), true},
		{"an event without a body", batch(1, 20), false},
		{"no events", batch(1), false},
		{"a wrong type", batch(1, 20, map[int]any{1: 7}), false},
		{"invalid UTF-8", batch(1, 20, map[int]any{1: cbor.RawMessage{0x61, 0xff}}), false},
		{"a field twice", batch(1, 20, cbor.RawMessage{0xa2, 0x01, 0x61, 'a', 0x01, 0x61, 'b'}), false},
		{"deep nesting", bytes.Repeat([]byte{0x81}, 100_000), false},
		{"a length from a lie", []byte{0x89, 1, 1, 0x61, 'w', 0x60, 0x60, 0x80, 0x9b, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff}, false},
		{"JSON, noise", []byte(`{"at":`), false},
		{"JSON, two", []byte(`{"at":1,"workflow":"w","events":[{"type":"WorkflowValidated","data":{}}]}{}`), false},
		{"JSON, no events", []byte(`{"at":1}`), false},
		{"JSON, a newer event", []byte(`{"events":[{"type":"Levitated","data":{}}]}`), true},
		{"JSON, a newer field", []byte(`{"events":[{"type":"WorkflowValidated","data":{"odd":1}}]}`), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := codec.Decode(c.data)
			require.Error(t, err)
			newer, corrupt := (*codec.NewerError)(nil), (*codec.CorruptError)(nil)
			if c.newer {
				require.ErrorAs(t, err, &newer)
			} else {
				require.ErrorAs(t, err, &corrupt)
			}
		})
	}
	for name, form := range forms {
		_, err := form.Encode(&codec.Batch{})
		require.Error(t, err, name)
		_, err = form.Encode(&codec.Batch{Events: []workflow.Event{nil}})
		require.Error(t, err, name)
	}
}

func TestStateAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := new(filled(workflow.State{}, drawn{t}))
		data, err := codec.EncodeState(want)
		require.NoError(t, err)
		got, err := codec.DecodeState(data)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
	_, err := codec.DecodeState([]byte("noise"))
	require.ErrorAs(t, err, new(*codec.CorruptError))
}

func TestRecorded(t *testing.T) {
	b := codec.Batch{At: 7, Events: []workflow.Event{workflow.WorkflowValidated{}, workflow.WorkflowScheduled{}}}
	require.Equal(t, []workflow.Recorded{
		{Version: 41, At: 7, Event: workflow.WorkflowValidated{}}, {Version: 42, At: 7, Event: workflow.WorkflowScheduled{}},
	}, b.Recorded(41))
}

// FuzzDecode: no bytes bring the decoder down, and what it accepts is written again the same.
func FuzzDecode(f *testing.F) {
	for _, e := range everyEvent {
		for _, form := range forms {
			data, err := form.Encode(&codec.Batch{At: 1, Workflow: "w", Events: []workflow.Event{filled(e, &counter{})}})
			require.NoError(f, err)
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := codec.Decode(data)
		if err != nil {
			return
		}
		first, err := codec.CBOR{}.Encode(b)
		require.NoError(t, err)
		back, err := codec.CBOR{}.Decode(first)
		require.NoError(t, err)
		second, err := codec.CBOR{}.Encode(back)
		require.NoError(t, err)
		require.Equal(t, first, second)
	})
}

func Example() {
	data, err := codec.CBOR{}.Encode(&codec.Batch{At: 1, Workflow: "order", Events: []workflow.Event{workflow.ActivityReady{Step: "charge"}}})
	if err != nil {
		fmt.Println(err)
	}
	b, err := codec.Decode(data)
	if err != nil {
		fmt.Println(err)
	}
	for _, r := range b.Recorded(12) {
		fmt.Println(r.Version, r.Event.Type(), r.Event)
	}
	// Output: 12 ActivityReady {charge 0}
}
