package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/std"
	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/memory"
	"github.com/wovyr/wovyr/pkg/workflow"
)

const tenant = "tenant"

// rig is workers on a store in memory, with queues, timers and a clock that a test moves by hand. Nothing moves by itself.
type rig struct {
	testing.TB
	*Worker
	store    *memory.Store
	payloads *memory.Payloads
	kinds    *activity.Registry

	mu       sync.Mutex
	now      int64
	serial   int
	messages []Message
	tasks    []Task
	armed    []arming
	beats    []*beat
	// sent is what a test has put aside.
	sent []Task
	// fault is asked before each call of a port by its name; an error is what the port returns, having done nothing.
	fault func(port string) error
	// lost is asked after each append: an error is what the store answers although it has stored the commit.
	lost func() error
}

type arming struct {
	stream eventstore.Stream
	at     int64
}

type beat struct {
	f    func()
	over bool
}

// epoch is when every test begins.
const epoch = int64(1_000 * time.Hour)

func newRig(t testing.TB, functions ...activity.Function) *rig {
	r := &rig{TB: t, store: memory.New(), payloads: memory.NewPayloads(0), kinds: activity.NewRegistry(), now: epoch}
	require.NoError(t, r.kinds.Functions.Add(append(std.Functions(), functions...)...))
	r.Worker = r.another("w1")
	return r
}

// another is one more worker on the same store and queues.
func (r *rig) another(name string) *Worker {
	ports := rigPorts{r}
	w := &Worker{Name: name, Class: DefaultClass, Commits: true, Store: &rigStore{Store: r.store, r: r}, Payloads: r.payloads, Programs: NewPrograms(r.store), Clock: ports, Entropy: ports,
		Inbox: rigInbox{r}, Tasks: rigTasks{r}, Timers: ports, Activities: r.kinds, Limits: DefaultLimits()}
	require.NoError(r, w.Init())
	return w
}

// port is called by each port first.
func (r *rig) port(name string) error {
	r.mu.Lock()
	fault := r.fault
	r.mu.Unlock()
	if fault == nil {
		return nil
	}
	return fault(name)
}

type rigPorts struct{ r *rig }

func (p rigPorts) Now() int64 {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	return p.r.now
}

func (p rigPorts) Every(_ time.Duration, f func()) func() {
	b := &beat{f: f}
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	p.r.beats = append(p.r.beats, b)
	return func() {
		p.r.mu.Lock()
		defer p.r.mu.Unlock()
		b.over = true
	}
}

func (p rigPorts) ID() string {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	p.r.serial++
	return fmt.Sprintf("id%d", p.r.serial)
}

func (p rigPorts) Nonce() (n eventstore.Nonce) {
	copy(n[:], fmt.Sprintf("n%013x", p.r.serial))
	p.ID()
	return n
}

func (p rigPorts) Arm(_ context.Context, s eventstore.Stream, at int64, _ bool) error {
	if err := p.r.port("timers"); err != nil {
		return err
	}
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	p.r.armed = append(p.r.armed, arming{s, at})
	return nil
}

type rigInbox struct{ r *rig }

func (q rigInbox) Send(_ context.Context, messages ...Message) error {
	if err := q.r.port("inbox"); err != nil {
		return err
	}
	q.r.mu.Lock()
	defer q.r.mu.Unlock()
	q.r.messages = append(q.r.messages, messages...)
	return nil
}

type rigTasks struct{ r *rig }

func (q rigTasks) Send(_ context.Context, tasks ...Task) error {
	if err := q.r.port("tasks"); err != nil {
		return err
	}
	q.r.mu.Lock()
	defer q.r.mu.Unlock()
	q.r.tasks = append(q.r.tasks, tasks...)
	return nil
}

// rigStore is the store with faults.
type rigStore struct {
	*memory.Store
	r *rig
	// away lets all that a beat needs fail.
	away bool
}

func (s *rigStore) Head(ctx context.Context, of eventstore.Stream) (uint64, error) {
	if s.away {
		return 0, errAway
	}
	return s.Store.Head(ctx, of)
}

func (s *rigStore) Extend(ctx context.Context, k eventstore.ClaimKey, held eventstore.Claim, until int64) (eventstore.Claim, error) {
	if s.away {
		return eventstore.Claim{}, errAway
	}
	return s.Store.Extend(ctx, k, held, until)
}

func (s *rigStore) Append(ctx context.Context, to eventstore.Stream, c eventstore.Commit, row *eventstore.Row) error {
	if err := s.r.port("append"); err != nil {
		return err
	}
	err := s.Store.Append(ctx, to, c, row)
	if err == nil && s.r.lost != nil {
		err = s.r.lost()
	}
	return err
}

func (s *rigStore) Tail(ctx context.Context, of eventstore.Stream) ([]eventstore.Commit, error) {
	if err := s.r.port("tail"); err != nil {
		return nil, err
	}
	return s.Store.Tail(ctx, of)
}

func (s *rigStore) PutDeadLetter(ctx context.Context, d eventstore.DeadLetter) error {
	if err := s.r.port("letters"); err != nil {
		return err
	}
	return s.Store.PutDeadLetter(ctx, d)
}

// pass moves the clock.
func (r *rig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now += int64(d)
}

// beat lets everything that is called every so often be called once.
func (r *rig) beat() {
	r.mu.Lock()
	list := slices.Clone(r.beats)
	r.mu.Unlock()
	for _, b := range list {
		if !b.over {
			b.f()
		}
	}
}

// define deploys a workflow and returns its name.
func (r *rig) define(text string) string {
	r.Helper()
	def, diagnostics := dsl.Compile("test.yaml", []byte("dsl: wovyr/v1\n"+text))
	require.NotNil(r, def, "%v", diagnostics)
	_, _, err := r.Deploy(r.Context(), tenant, def)
	require.NoError(r, err)
	return def.Name
}

// begin starts an execution.
func (r *rig) begin(name, input string) eventstore.Stream {
	r.Helper()
	s, err := r.Start(r.Context(), StartRequest{Tenant: tenant, Workflow: name, Input: workflow.Value(input)})
	require.NoError(r, err)
	return stream(s.Execution)
}

func stream(id string) eventstore.Stream { return eventstore.Stream{Tenant: tenant, ID: id} }

// takeTasks and takeMessages empty the queues.
func (r *rig) takeTasks() []Task {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.tasks
	r.tasks = nil
	return list
}

func (r *rig) takeMessages() []Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.messages
	r.messages = nil
	return list
}

func (r *rig) takeArmed() []arming {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.armed
	r.armed = nil
	return list
}

// received is one receive of a task.
func (r *rig) received(t Task) Delivery { return Delivery{Task: t, Receive: rigPorts{r}.ID()} }

// tell hands one input to an execution.
func (r *rig) tell(s eventstore.Stream, in workflow.Input) Answer {
	return r.HandleInbox(r.Context(), s, []Message{{ID: rigPorts{r}.ID(), Stream: s, Input: in}})[0]
}

// settle handles what is in the queues, and what comes of it, until they are empty. Everything must be done with at once.
func (r *rig) settle() {
	r.Helper()
	for {
		tasks, messages := r.takeTasks(), r.takeMessages()
		if len(tasks)+len(messages) == 0 {
			return
		}
		for _, t := range tasks {
			require.Equal(r, done(), r.HandleTask(r.Context(), r.received(t)), "task %s", t.Step)
		}
		for _, m := range messages {
			require.Equal(r, []Answer{done()}, r.HandleInbox(r.Context(), m.Stream, []Message{m}))
		}
	}
}

// waitAndRun lets the timers fire and another worker run what is in the queue.
func (r *rig) waitAndRun(w *Worker) {
	r.Helper()
	for range 3 {
		for _, a := range r.takeArmed() {
			r.pass(time.Duration(max(a.at-r.now, 0)))
			require.True(r, r.tell(a.stream, workflow.Tick{}).Done)
		}
		for _, t := range r.takeTasks() {
			require.Equal(r, done(), w.HandleTask(r.Context(), r.received(t)))
		}
	}
}

// ticks moves the clock to the earliest timer and lets it fire, until there is none.
func (r *rig) ticks() {
	r.Helper()
	for r.settle(); ; r.settle() {
		list := r.takeArmed()
		if len(list) == 0 {
			return
		}
		for _, a := range list {
			r.pass(time.Duration(max(a.at-r.now, 0)))
			require.True(r, r.tell(a.stream, workflow.Tick{}).Done)
		}
	}
}

// see reads an execution as it is stored.
func (r *rig) see(s eventstore.Stream) *Snapshot {
	r.Helper()
	snapshot, err := r.Inspect(r.Context(), s)
	require.NoError(r, err)
	return snapshot
}

// ended requires how an execution ended and returns its state.
func (r *rig) ended(s eventstore.Stream, outcome string) *Snapshot {
	r.Helper()
	state := r.see(s)
	require.Equal(r, outcome, Outcome(state.State), "%v %v", state.Status, state.Error)
	return state
}

// commits are the stored commits of an execution.
func (r *rig) commits(s eventstore.Stream) []eventstore.Commit {
	r.Helper()
	var list []eventstore.Commit
	for after := uint64(0); ; after = list[len(list)-1].Last {
		page, err := r.store.Page(r.Context(), s, after, eventstore.MaxPage)
		require.NoError(r, err)
		if len(page) == 0 {
			return list
		}
		list = append(list, page...)
	}
}

// events are the names of an execution's events.
func (r *rig) events(s eventstore.Stream) []string {
	r.Helper()
	history, err := r.whole(r.Context(), s)
	require.NoError(r, err)
	var out []string
	for _, e := range history {
		out = append(out, e.Event.Type().String())
	}
	return out
}

// count is how often an event stands in a history.
func (r *rig) count(s eventstore.Stream, event string) (n int) {
	r.Helper()
	for _, e := range r.events(s) {
		if e == event {
			n++
		}
	}
	return n
}

// letters are the dead letters.
func (r *rig) letters() []eventstore.DeadLetter {
	r.Helper()
	list, _, err := r.store.DeadLetters(r.Context(), tenant, eventstore.Page{})
	require.NoError(r, err)
	return list
}

// row is an execution's row in the index.
func (r *rig) row(s eventstore.Stream) eventstore.Row {
	r.Helper()
	row, err := r.store.Row(r.Context(), s)
	require.NoError(r, err)
	return row
}

var errAway = &eventstore.UnavailableError{Op: "test", Err: errors.New("away")}

// failing lets a port fail so often.
func (r *rig) failing(port string, times int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fault = func(name string) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if name != port || times == 0 {
			return nil
		}
		times--
		return errAway
	}
}

// counting is a function that counts how often it is called and returns the count.
func counting(name string) (activity.Function, func() int) {
	var mu sync.Mutex
	n := 0
	f := activity.Func(name, func(context.Context, struct{}) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		n++
		return n, nil
	})
	return f, func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}
