package codec_test

import (
	"testing"

	"github.com/wovyr/wovyr/pkg/workflow"
	"github.com/wovyr/wovyr/pkg/workflow/codec"
)

func BenchmarkStep(b *testing.B) {
	value := workflow.Inline(make(workflow.Value, 256))
	batch := &codec.Batch{At: 1 << 60, Workflow: "order", Worker: "w", Causes: []string{"message"}, Events: []workflow.Event{
		workflow.ActivityCompleted{Step: "reserve", Output: value}, workflow.ActivityReady{Step: "charge"},
		workflow.ActivityScheduled{Step: "charge", Attempt: 1, Fence: 1, By: "message", Input: value},
		workflow.ActivityStarted{Step: "charge", Fence: 1, By: "message", LeaseUntil: 1 << 60},
	}}
	data, err := codec.CBOR{}.Encode(batch)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := (codec.CBOR{}).Encode(batch); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := (codec.CBOR{}).Decode(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}
