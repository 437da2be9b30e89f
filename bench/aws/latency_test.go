package aws_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// samples is how many executions of the chain are timed; of fan-outs a fiftieth of them.
var samples = flag.Int("samples", 100, "how many executions are timed")

// sample is how long something took, many times.
type sample []time.Duration

// at is a percentile.
func (s sample) at(percent float64) time.Duration {
	slices.Sort(s)
	return s[min(len(s)-1, int(percent/100*float64(len(s))))]
}

// latencies are those of the model.
type latencies struct {
	// start is what a caller waits for the answer to a start. queued and chained are from the commit that made a step ready until its code begins:
	// through the queue, and in the invocation that did the step before. between is from the end of a step's code to the beginning of the
	// next, the commit included. crowd is queued for a hundred steps that are ready at once, with the pollers of a quiet deployment.
	start, queued, chained, between, chain, crowd, fan sample
}

func (s *site) latencies() (l latencies) {
	s.deploy(chain("chain10", 10, 0))
	s.deploy(fanOut("fan100", 100))
	for _, workflow := range []string{"chain10", "chain10", "fan100"} { // warm
		s.run(workflow)()
	}
	s.attempts = nil
	for range *samples {
		began := time.Now()
		id, took := s.start("chain10")
		l.start, l.chain = append(l.start, took), append(l.chain, s.end(id, began))
	}
	for i, a := range s.attempts {
		switch ready := a.Begun.Sub(a.Last); {
		case a.Chained:
			l.chained = append(l.chained, ready)
			l.between = append(l.between, a.Begun.Sub(s.attempts[i-1].Begun)) // whose code took no time
		default:
			l.queued = append(l.queued, ready)
		}
	}
	s.attempts = nil
	for range max(2, *samples/50) {
		began := time.Now()
		id, _ := s.start("fan100")
		l.fan = append(l.fan, s.end(id, began))
	}
	for _, a := range s.attempts {
		if strings.Contains(a.Step, "/") {
			l.crowd = append(l.crowd, a.Begun.Sub(a.First))
		}
	}
	return l
}

// TestLatencies holds the latencies of the model (internal/deployment/figures.go), and prints them. They are those of the code's calls one after
// another and of what the model says of each, not of AWS.
func TestLatencies(t *testing.T) {
	onSite(t, 1, func(s *site) {
		l := s.latencies()
		var out strings.Builder
		out.WriteString("| milliseconds | samples | median | 90th | 99th percentile |\n|---|---|---|---|---|\n")
		for _, x := range []struct {
			name string
			of   sample
			most time.Duration // of the 99th percentile, over few samples the greatest
		}{
			{"start: request to answer", l.start, 100 * time.Millisecond},
			{"step ready to its code, in the same invocation", l.chained, 50 * time.Millisecond},
			{"end of a step's code to the next step's, the commit included", l.between, 100 * time.Millisecond},
			{"step ready to its code, through the queue", l.queued, 300 * time.Millisecond},
			{"the same, of a hundred at once", l.crowd, 3 * time.Second},
			{"chain of 10, request to end", l.chain, time.Second},
			{"fan-out of 100, request to end", l.fan, 10 * time.Second},
		} {
			fmt.Fprintf(&out, "| %s | %d | %s | %s | %s |\n", x.name, len(x.of), ms(x.of.at(50)), ms(x.of.at(90)), ms(x.of.at(99)))
			require.NotEmpty(t, x.of, x.name)
			if *samples >= 1000 || x.of.at(90) > x.most { // the tail of few is chance
				require.LessOrEqual(t, x.of.at(99), x.most, x.name)
			}
		}
		t.Log("\n" + out.String())
	})
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }
