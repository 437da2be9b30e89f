package deployment

import (
	"context"
	"encoding/json"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/aws"
	"github.com/wovyr/wovyr/pkg/aws/meter"
	"github.com/wovyr/wovyr/pkg/aws/stack"
)

// handler is a Lambda handler.
type handler func(ctx context.Context, event json.RawMessage) (any, error)

// ofMessages reads the event of a handler of messages, as Lambda's runtime does.
func ofMessages(h func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)) handler {
	return func(ctx context.Context, event json.RawMessage) (any, error) {
		var e events.SQSEvent
		if err := json.Unmarshal(event, &e); err != nil {
			return nil, err
		}
		return h(ctx, e)
	}
}

// function is a Lambda function with its sandboxes: each handles one invocation at a time, and the one that was idle last comes first.
type function struct {
	d       *Deployment
	name    string
	timeout time.Duration
	open    func() handler

	mu   sync.Mutex
	idle []handler
}

func (d *Deployment) function(name string, timeout time.Duration, of func(p *aws.Platform) handler) {
	f := &function{d: d, name: name, timeout: timeout}
	f.open = func() handler { return of(d.platform(f.sdk())) }
	d.functions[name] = f
}

// invocation is one run of a handler, as far as its activities are concerned.
type invocation struct {
	// began counts activities, work is the time that is the user's own.
	began atomic.Int64
	work  atomic.Int64
}

type invocationKey struct{}

// invoke runs the handler on an event and bills it: a request, and its time by the memory, without the time of activities, which is the user's own.
func (f *function) invoke(event any) (any, error) {
	text, err := json.Marshal(event)
	require.NoError(f.d.t, err)
	time.Sleep(f.d.dice.draw(invoke))
	h := f.take()
	defer f.give(h)
	run := &invocation{}
	ctx := context.WithValue(meter.With(context.Background(), meter.Label{Step: f.name}), invocationKey{}, run)
	limited, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	start := time.Now()
	f.think(cpuInvocation)
	out, err := h(limited, text)
	took := time.Since(start) - time.Duration(run.work.Load())
	f.d.meter.Add(ctx, meter.Invocation, 1)
	f.d.meter.Add(ctx, meter.GBSecond, math.Ceil(float64(took)/float64(time.Millisecond))/1000*float64(memories[f.name])/1024)
	return out, err
}

// think takes processor time.
func (f *function) think(d time.Duration) {
	time.Sleep(time.Duration(float64(d) / share(memories[f.name])))
}

func (f *function) take() handler {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.idle); n > 0 {
		h := f.idle[n-1]
		f.idle = f.idle[:n-1]
		return h
	}
	return f.open()
}

func (f *function) give(h handler) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.idle = append(f.idle, h)
}

// Sweep invokes the timer function as the rule does that starts it each minute.
func (d *Deployment) Sweep() {
	_, err := d.functions[functionTimer].invoke(map[string]any{"wovyr": stack.SweepEvent})
	require.NoError(d.t, err)
}

// Attempt is one activity that began.
type Attempt struct {
	Execution, Step string
	// Begun is when its code began to run, First and Last when the execution's first and its newest commit before that were stored.
	Begun, First, Last time.Time
	// Chained says that the same invocation had run another one before.
	Chained bool
}

// Begin says, in an activity, which attempt it is.
func (d *Deployment) Begin(ctx context.Context) Attempt {
	info := activity.Info(ctx)
	run := ctx.Value(invocationKey{}).(*invocation)
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.commits[info.Execution]
	return Attempt{Execution: info.Execution, Step: info.Step, Begun: time.Now(), First: c.first, Last: c.last, Chained: run.began.Add(1) > 1}
}

// Work takes a time, in an activity, that is the user's own.
func (d *Deployment) Work(ctx context.Context, took time.Duration) {
	time.Sleep(took)
	ctx.Value(invocationKey{}).(*invocation).work.Add(int64(took))
}
