package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// run is one execution that was asked for.
type run struct {
	scenario Scenario
	stream   eventstore.Stream
	// asked is set once the client has had an answer; one that never asks again leaves it to the sweep.
	asked bool
	// redrives is how many redrives are still to be made or to be found needless.
	redrives int
}

func (r *run) over(*world) bool { return r.asked && r.redrives == 0 }

// pickScenario picks one; the rare ones rarely.
func (w *world) pickScenario() Scenario {
	for {
		s := w.config.Scenarios[w.rng.IntN(len(w.config.Scenarios))]
		if s.OneIn == 0 || len(w.config.Scenarios) == 1 || w.chance(s.OneIn) {
			return s
		}
	}
}

// launch asks for an execution, again and again until there is an answer, and sends what comes from outside.
func (w *world) launch(s Scenario) {
	r := &run{scenario: s}
	key := fmt.Sprintf("run-%d", len(w.runs))
	w.runs = append(w.runs, r)
	w.in(w.between(0, 5*time.Second), func() {
		w.insist(func(p *process) error {
			started, err := p.worker.Start(background(), worker.StartRequest{Tenant: tenant, Workflow: s.Definitions[0].Name, Key: key, Input: s.Input})
			if err == nil && !r.asked {
				r.asked, r.stream = true, eventstore.Stream{Tenant: tenant, ID: started.Execution}
				w.note("%s is %s", started.Execution, s.Name)
				w.ledger(r.stream).scenario = s.Name
				w.fromOutside(r)
			}
			return err
		})
	})
}

// insist lets a client ask until it has an answer.
func (w *world) insist(ask func(p *process) error) {
	done := false
	var try func()
	try = func() {
		if done {
			return
		}
		w.orchestrator().start(func(r *routine) {
			if err := ask(r.p); err == nil {
				done = true
			}
		}, func() {})
		w.in(w.between(time.Second, 10*time.Second), try)
	}
	try()
}

func (w *world) fromOutside(r *run) {
	for i, o := range r.scenario.Outside {
		if o.OneIn > 0 && !w.chance(o.OneIn) {
			continue
		}
		id := fmt.Sprintf("outside-%s-%d", r.stream.ID, i)
		if o.Redrive {
			r.redrives++
		}
		w.in(w.between(0, o.Within), func() { w.bring(r, o, id) })
	}
}

// bring sends one input from outside until it is accepted, as a client would.
func (w *world) bring(r *run, o Outside, id string) {
	switch {
	case o.Event != nil:
		w.publish(r, *o.Event, id)
	case o.Redrive:
		w.redrive(r, id)
	default:
		// The queue has it when the client hears so: this send is never lost.
		w.group(r.stream).add(w, worker.Message{ID: id, Stream: r.stream, Input: o.input(id)})
	}
	if o.Again {
		w.in(w.between(30*time.Second, 2*time.Minute), func() {
			if !w.ended(r.stream) {
				w.bring(r, o, id+"+")
			}
		})
	}
}

// input is the message of an input that is sent to the execution itself.
func (o Outside) input(id string) workflow.Input {
	switch {
	case o.Signal != nil:
		in := *o.Signal
		in.ID = id
		return in
	case o.Decision != nil:
		in := *o.Decision
		in.ID = id
		return in
	case o.Move != nil:
		in := *o.Move
		in.ID = id
		return in
	}
	in := *o.Cancel
	in.ID = id
	return in
}

func (w *world) publish(r *run, e worker.Event, id string) {
	e.ID = id
	if e.Key == "" {
		e.Key = r.stream.ID
	}
	w.insist(func(p *process) error { return p.worker.Publish(background(), tenant, e) })
}

// redrive waits for the end of an execution and goes on from there if it did not end well.
func (w *world) redrive(r *run, id string) {
	if !w.ended(r.stream) {
		w.in(w.between(10*time.Second, time.Minute), func() { w.redrive(r, id) })
		return
	}
	if l := w.ledgers[r.stream]; l.state.Status == fsm.WorkflowStateCompleted() || l.state.Compensated {
		r.redrives--
		return
	}
	over := false
	w.insist(func(p *process) error {
		started, err := p.worker.Redrive(background(), worker.RedriveRequest{Stream: r.stream, Key: id})
		if err == nil || errors.Is(err, worker.ErrNoExecution) {
			w.note("%s is redriven as %s", r.stream.ID, started.Execution)
			if !over {
				r.redrives--
			}
			over = true
			return nil
		}
		return err
	})
}

// callback answers a call that was only started: sometimes twice, sometimes before the call itself has returned.
func (w *world) callback(s eventstore.Stream, ref workflow.AttemptRef) {
	for range 1 + w.rng.IntN(2) {
		id := entropy{w}.ID()
		w.in(w.between(0, 3*time.Minute), func() {
			result := workflow.ActivityResult{AttemptRef: ref, Output: workflow.Inline(workflow.Value(output(ref.Step, ref.Fence)))}
			w.group(s).add(w, worker.Message{ID: id, Stream: s, Input: result})
		})
	}
}
