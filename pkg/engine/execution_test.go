package engine_test

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/workflow"
	"github.com/wovyr/wovyr/pkg/workflow/codec"
)

// execution is one execution under test: its history as the bytes that a store would hold, and the live state. Each
// decision on it is held to the laws of the engine.
type execution struct {
	id      string
	program *engine.Program
	def     *workflow.Definition
	state   *workflow.State
	// commits are the history; checkpoints, the encoded state after each of them.
	commits     [][]byte
	checkpoints [][]byte
	first       []uint64 // sequence number of each commit's first event
	events      []workflow.Recorded
	// attempts has the last attempt of each step that was scheduled.
	attempts map[string]workflow.AttemptRef
}

func newExecution(id string, def *workflow.Definition) (*execution, error) {
	p, err := engine.Link(def)
	if err != nil {
		return nil, err
	}
	return &execution{id: id, program: p, def: def, attempts: map[string]workflow.AttemptRef{}}, nil
}

// decide makes one decision, keeps it and checks the laws. refusals has one entry an input, nil where it was taken.
func (x *execution) decide(env engine.Env, inputs ...workflow.Input) (d engine.Decision, refusals []error, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = broken("no panic", "%v\n%s", cause, debug.Stack())
		}
	}()
	before, err := encodeState(x.state)
	if err != nil {
		return d, nil, err
	}
	if err := x.lawClone(before, env, inputs); err != nil {
		return d, nil, err
	}
	d, refusals = turn(x.program, x.state, env, inputs)
	x.state = d.State
	if err := x.store(d); err != nil {
		return d, refusals, err
	}
	after, err := encodeState(x.state)
	if err != nil {
		return d, refusals, err
	}
	if len(d.Events) > 0 {
		x.checkpoints = append(x.checkpoints, after)
	}
	for _, law := range []func() error{
		func() error { return x.lawVersions(d) },
		func() error { return lawRefusals(refusals) },
		func() error { return x.lawUnchanged(d, before, after) },
		func() error { return x.lawSameDecision(d, refusals, before, env, inputs) },
		func() error { return x.lawReplay(before, after, d) },
		func() error { return x.lawOutstanding(after, d) },
		func() error { return x.lawAgain(after, d, env, inputs) },
	} {
		if err := law(); err != nil {
			return d, refusals, err
		}
	}
	return d, refusals, nil
}

func turn(p *engine.Program, s *workflow.State, env engine.Env, inputs []workflow.Input) (engine.Decision, []error) {
	t := engine.NewTurn(p, s, env)
	refusals := make([]error, len(inputs))
	for i, in := range inputs {
		refusals[i] = t.Handle(in)
	}
	return t.Decision(), refusals
}

// store encodes the decision's events as a commit and notes the attempts in it.
func (x *execution) store(d engine.Decision) error {
	if len(d.Events) == 0 {
		return nil
	}
	b := &codec.Batch{At: d.Events[0].At, Workflow: x.def.Name, Worker: "w"}
	for _, r := range d.Events {
		b.Events = append(b.Events, r.Event)
	}
	for _, form := range []codec.Serializer{codec.JSON{}, codec.CBOR{}} {
		data, err := form.Encode(b)
		if err != nil {
			return fmt.Errorf("the commit cannot be encoded: %w", err)
		}
		back, err := form.Decode(data)
		if err != nil {
			return fmt.Errorf("the commit cannot be decoded: %w", err)
		}
		again, err := form.Encode(back)
		if err != nil || string(again) != string(data) {
			return fmt.Errorf("the commit changes when it is decoded and encoded:\n%s\n%s", data, again)
		}
		if _, ok := form.(codec.CBOR); ok {
			x.commits = append(x.commits, data)
			x.first = append(x.first, d.Events[0].Version)
		}
	}
	x.events = append(x.events, d.Events...)
	for _, r := range d.Events {
		if e, ok := r.Event.(workflow.ActivityScheduled); ok {
			x.attempts[e.Step] = workflow.AttemptRef{Step: e.Step, Attempt: e.Attempt, Fence: e.Fence}
		}
	}
	return nil
}

// load decodes the history from a commit on.
func (x *execution) load(from int) ([]workflow.Recorded, error) {
	var list []workflow.Recorded
	for i := from; i < len(x.commits); i++ {
		b, err := codec.Decode(x.commits[i])
		if err != nil {
			return nil, err
		}
		list = append(list, b.Recorded(x.first[i])...)
	}
	return list, nil
}

func encodeState(s *workflow.State) ([]byte, error) {
	if s == nil || s.Version == 0 {
		return nil, nil
	}
	data, err := codec.CBOR{}.Encode(&codec.Batch{Events: []workflow.Event{workflow.WorkflowValidated{}}, State: s})
	if err != nil {
		return nil, fmt.Errorf("the state cannot be encoded: %w", err)
	}
	return data, nil
}

func decodeState(data []byte) (*workflow.State, error) {
	if data == nil {
		return nil, nil
	}
	b, err := codec.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("the state cannot be decoded: %w", err)
	}
	return b.State, nil
}

// readable is the JSON form of an encoded state, for differences.
func readable(data []byte) string {
	s, err := decodeState(data)
	if err != nil || s == nil {
		return fmt.Sprintf("no state (%v)", err)
	}
	text, err := codec.JSON{}.Encode(&codec.Batch{Events: []workflow.Event{workflow.WorkflowValidated{}}, State: s})
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// broken is how a broken law reads.
func broken(name, format string, args ...any) error {
	return fmt.Errorf("LAW BROKEN, %s: %s", name, fmt.Sprintf(format, args...))
}

// lawVersions: sequence numbers have no gaps, time never goes back, and all events of a decision have one time.
func (x *execution) lawVersions(d engine.Decision) error {
	n := uint64(len(x.events) - len(d.Events))
	for i, r := range d.Events {
		switch {
		case r.Version != n+uint64(i)+1:
			return broken("versions are gapless", "event %d has version %d", n+uint64(i)+1, r.Version)
		case r.At != d.Events[0].At:
			return broken("one decision, one time", "event %d is at %d, the first at %d", r.Version, r.At, d.Events[0].At)
		}
	}
	if k := len(x.events) - len(d.Events); k > 0 && len(d.Events) > 0 && d.Events[0].At < x.events[k-1].At {
		return broken("time never goes back", "%d after %d", d.Events[0].At, x.events[k-1].At)
	}
	if x.state != nil && x.state.Version != uint64(len(x.events)) {
		return broken("the version is that of the last event", "%d after %d events", x.state.Version, len(x.events))
	}
	return nil
}

// lawRefusals: whatever is refused is refused with the typed error.
func lawRefusals(refusals []error) error {
	for _, err := range refusals {
		if err == nil {
			continue
		}
		refused := new(engine.RefusedError)
		if !errors.As(err, &refused) || refused.Reason == "" || refused.Input == "" {
			return broken("refusals are typed and say why", "%v", err)
		}
	}
	return nil
}

// lawClone: a clone is equal, and what is decided on it leaves the original alone.
func (x *execution) lawClone(before []byte, env engine.Env, inputs []workflow.Input) error {
	if x.state == nil {
		return nil
	}
	clone := engine.Clone(x.state)
	if got, err := encodeState(clone); err != nil || string(got) != string(before) {
		return broken("a clone is equal", "%v: %s\n%s", err, readable(before), readable(got))
	}
	turn(x.program, clone, env, inputs)
	if got, err := encodeState(x.state); err != nil || string(got) != string(before) {
		return broken("a decision on a clone leaves the original alone", "%v: before:\n%s\nafter:\n%s", err, readable(before), readable(got))
	}
	return nil
}

// lawUnchanged: without events nothing changes.
func (x *execution) lawUnchanged(d engine.Decision, before, after []byte) error {
	if len(d.Events) > 0 || string(before) == string(after) {
		return nil
	}
	return broken("no event, no change", "before:\n%s\nafter:\n%s", readable(before), readable(after))
}

// lawSameDecision: a state that was stored and loaded decides the same as the live one.
func (x *execution) lawSameDecision(d engine.Decision, refusals []error, before []byte, env engine.Env, inputs []workflow.Input) error {
	s, err := decodeState(before)
	if err != nil {
		return err
	}
	again, refusedAgain := turn(x.program, s, env, inputs)
	for i := range refusals {
		if fmt.Sprint(refusals[i]) != fmt.Sprint(refusedAgain[i]) {
			return broken("the same state decides the same", "%v, loaded: %v", refusals[i], refusedAgain[i])
		}
	}
	live, loaded := showDecision(d), showDecision(again)
	if live != loaded {
		return broken("the same state decides the same", "live:\n%s\nloaded:\n%s", live, loaded)
	}
	return nil
}

// lawReplay: the history gives the live state, from its start, from the checkpoint before and from one in the middle.
func (x *execution) lawReplay(before, after []byte, d engine.Decision) error {
	if len(d.Events) == 0 {
		return nil
	}
	last := len(x.commits) - 1
	if err := x.replays("the checkpoint before", before, last, after); err != nil {
		return err
	}
	if err := x.replays("the start", nil, 0, after); err != nil {
		return err
	}
	if middle := last / 2; middle > 0 {
		return x.replays("a checkpoint in the middle", x.checkpoints[middle-1], middle, after)
	}
	return nil
}

func (x *execution) replays(from string, checkpoint []byte, commit int, want []byte) error {
	s, err := decodeState(checkpoint)
	if err != nil {
		return err
	}
	events, err := x.load(commit)
	if err != nil {
		return err
	}
	if commit == len(x.commits)-1 {
		for _, e := range events { // event by event comes to the same
			if s, err = engine.Apply(x.program, s, e); err != nil {
				return broken("applying gives the live state", "from %s: %v", from, err)
			}
		}
	} else if s, err = engine.Replay(x.program, s, events); err != nil {
		return broken("replay gives the live state", "from %s: %v", from, err)
	}
	got, err := encodeState(s)
	if err != nil {
		return err
	}
	if string(got) != string(want) {
		return broken("replay gives the live state", "from %s: replayed:\n%s\nlive:\n%s", from, readable(got), readable(want))
	}
	return nil
}

// lawOutstanding: a decision's commands are part of what is outstanding; live and loaded state have the same work
// outstanding; and as long as the execution has not ended there is some.
func (x *execution) lawOutstanding(after []byte, d engine.Decision) error {
	if after == nil {
		return nil
	}
	all := showCommands(engine.Outstanding(x.program, x.state))
	known := map[string]bool{}
	for _, c := range all {
		known[c] = true
	}
	for _, c := range showCommands(d.Commands) {
		if !known[c] {
			return broken("commands are outstanding", "%s is not among\n%s", c, lines(all))
		}
	}
	s, err := decodeState(after)
	if err != nil {
		return err
	}
	if loaded := showCommands(engine.Outstanding(x.program, s)); lines(loaded) != lines(all) {
		return broken("what is outstanding follows from the state", "live:\n%s\nloaded:\n%s", lines(all), lines(loaded))
	}
	if !x.state.Status.Terminal() && len(all) == 0 {
		return broken("what has not ended has something outstanding", "nothing in\n%s", readable(after))
	}
	if at, ok := engine.Due(x.program, x.state); x.state.Status.Terminal() && ok {
		return broken("what has ended has no deadline", "%d", at)
	}
	return nil
}

// lawAgain: the same input again decides nothing, or is refused. A decision that stopped at its bounds may go on. Of several
// inputs in one commit nobody can say which led to what, and what was too early for the first may be right after the last.
func (x *execution) lawAgain(after []byte, d engine.Decision, env engine.Env, inputs []workflow.Input) error {
	if d.More || after == nil || len(inputs) != 1 {
		return nil
	}
	if c, ok := inputs[0].(workflow.Cancel); ok && c.ID == "" {
		return nil // each is a request of its own
	}
	s, err := decodeState(after)
	if err != nil {
		return err
	}
	again, _ := turn(x.program, s, env, inputs)
	if len(again.Events) > 0 {
		return broken("an input that comes twice counts once", "%s again leads to\n%s", inputs[0].InputType(), showDecision(again))
	}
	return nil
}
