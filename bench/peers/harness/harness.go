package harness

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

var (
	figures = flag.String("figures", "start,chain,fan,throughput,resume", "which figures to take, with commas")
	starts  = flag.Int("starts", 100, "start: workflows, one after the other")
	chains  = flag.Int("chains", 3, "chain: workflows, one after the other")
	steps   = flag.Int("steps", 100, "chain, fan: steps of a workflow")
	fans    = flag.Int("fans", 5, "fan: workflows, one after the other")
	total   = flag.Int("total", 500, "throughput: workflows in all")
	atOnce  = flag.Int("at-once", 50, "throughput: workflows at a time")
	resume  = flag.String("resume", "10,1000,10000", "resume: steps that a workflow has done when its worker restarts, with commas")
	servers = flag.String("servers", "", "process IDs of the engine's servers, with commas: their processor time counts")
)

// Line is one figure on standard output.
type Line struct {
	Figure string `json:"figure"`
	Unit   string `json:"unit"`
	// Values are in the order in which they were taken.
	Values []float64 `json:"values"`
	// Processor is the processor time of a step in ms, 0 where it was not taken.
	Processor float64 `json:"processor_ms_per_step,omitempty"`
}

// Main takes the figures of an engine that has been started, prints them, and stops it. Flags have been parsed.
func Main(e Engine, r Restarter, s *Steps) {
	if err := take(context.Background(), os.Stdout, e, r, s); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// Must ends the program if there is an error.
func Must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is one run of the harness.
type bench struct {
	Engine
	Restarter
	steps   *Steps
	servers []int
	base    string
	serial  atomic.Int64
}

func take(ctx context.Context, out io.Writer, e Engine, r Restarter, s *Steps) error {
	b := &bench{Engine: e, Restarter: r, steps: s, base: strconv.FormatInt(time.Now().UnixNano(), 36)}
	for _, text := range strings.FieldsFunc(*servers, func(r rune) bool { return r == ',' }) {
		pid, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("-servers: %w", err)
		}
		b.servers = append(b.servers, pid)
	}
	for range 10 { // caches, connections and compilers warm up
		if _, err := b.run(ctx, Sequence, 10); err != nil {
			return err
		}
	}
	lines := json.NewEncoder(out)
	for _, name := range strings.Split(*figures, ",") {
		taken, err := b.figure(ctx, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, l := range taken {
			if err := lines.Encode(l); err != nil {
				return err
			}
		}
	}
	return r.Stop()
}

// figure takes one of the figures; resume gives two lines for each length.
func (b *bench) figure(ctx context.Context, name string) ([]Line, error) {
	one := func(l Line, err error) ([]Line, error) { return []Line{l}, err }
	switch name {
	case "start":
		return one(b.start(ctx))
	case "chain":
		return one(b.chain(ctx))
	case "fan":
		return one(b.fan(ctx))
	case "throughput":
		return one(b.throughput(ctx))
	case "resume":
		var out []Line
		for _, text := range strings.Split(*resume, ",") {
			n, err := strconv.Atoi(text)
			if err != nil {
				return out, err
			}
			lines, err := b.resume(ctx, n)
			if err != nil {
				return out, err
			}
			out = append(out, lines...)
		}
		return out, nil
	}
	return nil, fmt.Errorf("there is no figure of that name")
}

// run runs a workflow to its end and returns its steps. A result that is not the number of its steps is an error.
func (b *bench) run(ctx context.Context, kind Kind, n int) (run, error) {
	id := b.id(kind)
	sum, err := b.Run(ctx, kind, n, id)
	seen := b.steps.take(id)
	switch {
	case err != nil:
		return seen, err
	case sum != n || seen.count < n:
		return seen, fmt.Errorf("%s of %d steps: the result is %d, and %d steps ran", kind, n, sum, seen.count)
	}
	return seen, nil
}

func (b *bench) id(kind Kind) string { return fmt.Sprintf("%s-%s-%d", kind, b.base, b.serial.Add(1)) }

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// start: from the call that starts a workflow to its first step.
func (b *bench) start(ctx context.Context) (Line, error) {
	l := Line{Figure: "start", Unit: "ms"}
	for range *starts {
		began := time.Now()
		seen, err := b.run(ctx, Sequence, 1)
		if err != nil {
			return l, err
		}
		l.Values = append(l.Values, ms(seen.first.Sub(began)))
	}
	return l, nil
}

// chain: a step of a sequence, first step to last.
func (b *bench) chain(ctx context.Context) (Line, error) {
	l := Line{Figure: "chain", Unit: "ms a step"}
	before := Processor(b.servers)
	for range *chains {
		seen, err := b.run(ctx, Sequence, *steps)
		if err != nil {
			return l, err
		}
		l.Values = append(l.Values, ms(seen.last.Sub(seen.first))/float64(*steps-1))
	}
	l.Processor = ms(Processor(b.servers)-before) / float64(*chains**steps)
	return l, nil
}

// fan: from the start to the result.
func (b *bench) fan(ctx context.Context) (Line, error) {
	l := Line{Figure: "fan", Unit: "ms"}
	for range *fans {
		began := time.Now()
		if _, err := b.run(ctx, Fan, *steps); err != nil {
			return l, err
		}
		l.Values = append(l.Values, ms(time.Since(began)))
	}
	return l, nil
}

// throughput: many workflows of 10 steps at a time.
func (b *bench) throughput(ctx context.Context) (Line, error) {
	const length = 10
	var left atomic.Int64
	left.Store(int64(*total))
	errs := make([]error, *atOnce)
	before, began := Processor(b.servers), time.Now()
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			for errs[i] == nil && left.Add(-1) >= 0 {
				_, errs[i] = b.run(ctx, Sequence, length)
			}
		})
	}
	all.Wait()
	took, used := time.Since(began), Processor(b.servers)-before
	n := float64(*total * length)
	return Line{Figure: "throughput", Unit: "steps/s", Values: []float64{n / took.Seconds()}, Processor: ms(used) / n}, cmp.Or(errs...)
}

// settle is how long a worker rests before and after a restart, so that what it does then is not in the figure resume.
const settle = time.Second

// resume: from a signal to the next step of a workflow that has done n, when its worker was restarted a while before; then the same
// again as restart, from the beginning of the restart, with the signal as soon as the worker is up.
func (b *bench) resume(ctx context.Context, n int) ([]Line, error) {
	id := b.id(Park)
	first, second := b.steps.told(parked(id, 1)), b.steps.told(parked(id, 2))
	if err := b.Park(ctx, n, id); err != nil {
		return nil, err
	}
	<-first
	if err := b.rest(); err != nil {
		return nil, err
	}
	if err := b.Start(); err != nil {
		return nil, err
	}
	time.Sleep(settle)
	resumed, err := b.next(ctx, id, 1, time.Now())
	if err != nil {
		return nil, err
	}
	<-second
	if err := b.rest(); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := b.Start(); err != nil {
		return nil, err
	}
	restarted, err := b.next(ctx, id, 2, began)
	return []Line{
		{Figure: fmt.Sprintf("resume-%d", n), Unit: "ms", Values: []float64{resumed}},
		{Figure: fmt.Sprintf("restart-%d", n), Unit: "ms", Values: []float64{restarted}},
	}, err
}

// rest lets the worker finish what it writes, and stops it.
func (b *bench) rest() error {
	time.Sleep(settle)
	return b.Stop()
}

// next sends signal k and returns the time since a moment at which the next step ran.
func (b *bench) next(ctx context.Context, id string, k int, since time.Time) (float64, error) {
	b.steps.take(id)
	ran := b.steps.told(id)
	if err := b.Signal(ctx, id, k); err != nil {
		return 0, err
	}
	<-ran
	return ms(b.steps.take(id).first.Sub(since)), nil
}
