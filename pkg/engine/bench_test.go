package engine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// A step of a chain is four events: ActivityReady, ActivityScheduled, ActivityStarted, ActivityCompleted.
const eventsAStep = 4

// BenchmarkDecideChain is one decided step of a chain: a result comes in, the next step is scheduled. events is the length of the
// whole history.
func BenchmarkDecideChain(b *testing.B) {
	for _, events := range []int{10, 1_000, 100_000} {
		b.Run(fmt.Sprintf("events=%d", events), func(b *testing.B) {
			n := max(events/eventsAStep, 2)
			def := chain(n)
			var l *load
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				if i%n == 0 {
					b.StopTimer()
					l = newLoad(b, def, startOfLoad("ex", workflow.Payload{}))
					b.StartTimer()
				}
				l.step(b)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
		})
	}
}

// BenchmarkDecideBare is the same without any expression: what the engine itself costs.
func BenchmarkDecideBare(b *testing.B) {
	def := chain(1000)
	for i := range def.Body.Steps {
		def.Body.Steps[i].Call.With = nil
	}
	var l *load
	b.ReportAllocs()
	for i := range b.N {
		if i%1000 == 0 {
			b.StopTimer()
			l = newLoad(b, def, startOfLoad("ex", workflow.Payload{}))
			b.StartTimer()
		}
		l.step(b)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
}

// BenchmarkDecideForeach is one decided item of a foreach of 256.
func BenchmarkDecideForeach(b *testing.B) {
	def := each()
	var l *load
	var next []workflow.RunActivity
	b.ReportAllocs()
	for range b.N {
		if len(next) == 0 {
			b.StopTimer()
			l = newLoad(b, def, startOfLoad("ex", list(engine.MaxInline)))
			for _, c := range l.last.Commands {
				if c, ok := c.(workflow.RunActivity); ok {
					next = append(next, c)
				}
			}
			b.StartTimer()
		}
		l.do(b, workflow.ActivityResult{AttemptRef: next[0].AttemptRef, Worker: "w1", StartedAt: storyStart, Output: workflow.Inline(value256)})
		next = next[1:]
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "items/s")
}

// historyOf is the history of a chain with about that many events.
func historyOf(tb testing.TB, events int) (*engine.Program, []workflow.Recorded) {
	l := newLoad(tb, chain(max(events/eventsAStep, 2)), startOfLoad("ex", workflow.Payload{}))
	all := append([]workflow.Recorded(nil), l.last.Events...)
	for l.step(tb) {
		all = append(all, l.last.Events...)
	}
	return l.p, all
}

// BenchmarkReplay folds a whole history.
func BenchmarkReplay(b *testing.B) {
	for _, events := range []int{10, 1_000, 100_000} {
		b.Run(fmt.Sprintf("events=%d", events), func(b *testing.B) {
			p, history := historyOf(b, events)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				_, err := engine.Replay(p, nil, history)
				require.NoError(b, err)
			}
			b.ReportMetric(float64(b.N)*float64(len(history))/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkLink links a definition of 10,000 steps: once for each definition and process.
func BenchmarkLink(b *testing.B) {
	def := chain(10_000)
	for range b.N {
		_, err := engine.Link(def)
		require.NoError(b, err)
	}
}

// BenchmarkColdDecide is a decision on a state that was loaded from its bytes, half way through a chain.
func BenchmarkColdDecide(b *testing.B) {
	for _, events := range []int{1_000, 100_000} {
		b.Run(fmt.Sprintf("events=%d", events), func(b *testing.B) {
			n := events / eventsAStep
			l := newLoad(b, chain(n), startOfLoad("ex", workflow.Payload{}))
			for range n / 2 {
				l.step(b)
			}
			data, err := encodeState(l.s)
			require.NoError(b, err)
			b.ReportMetric(float64(len(data)), "state-bytes")
			run := l.last.Commands[0].(workflow.RunActivity)
			b.ResetTimer()
			for range b.N {
				s, err := decodeState(data)
				require.NoError(b, err)
				_, err = engine.Decide(l.p, s, workflow.ActivityResult{AttemptRef: run.AttemptRef, Output: workflow.Inline(value256)}, l.env)
				require.NoError(b, err)
			}
		})
	}
}
