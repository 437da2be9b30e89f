package sim

import (
	"context"
	"time"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// operate lets an operator look at the dead letters now and then and send one of them again.
func (w *world) operate() {
	if !w.faulty() {
		return
	}
	w.in(w.between(time.Minute, 3*time.Minute), w.operate)
	letters, _, err := w.store.DeadLetters(background(), tenant, eventstore.Page{Limit: eventstore.MaxPage})
	if err != nil || len(letters) == 0 {
		return
	}
	d := letters[w.rng.IntN(len(letters))]
	w.orchestrator().start(func(r *routine) {
		err := r.p.worker.Redeliver(background(), tenant, d.ID, func(ctx context.Context, s eventstore.Stream, in workflow.Input) error {
			return inbox{w}.Send(ctx, worker.Message{ID: entropy{w}.ID(), Stream: s, Input: in})
		})
		w.note("dead letter %s is sent again: %v", d.ID, err)
	}, func() {})
}

// rescue lets an operator retry what failed because its worker was lost too often: under heavy faults that can happen to any step, also
// to one whose failure needs an operator.
func (w *world) rescue() {
	w.in(10*time.Minute, w.rescue)
	for _, l := range w.sorted() {
		if l.state == nil || l.state.Status.Terminal() {
			continue
		}
		for _, c := range engine.Outstanding(l.program, l.state) {
			if await, ok := c.(workflow.AwaitOperator); ok && await.Error != nil && await.Error.Code == "infrastructure.recoveries" {
				id := entropy{w}.ID()
				w.group(l.stream).add(w, worker.Message{ID: id, Stream: l.stream, Input: workflow.OperatorMove{ID: id, Move: workflow.MoveRetry, Step: await.Step}})
			}
		}
	}
}

// versions is how many there are of each workflow. They read the same.
const versions = 2

// switchVersions moves the alias `live` of every workflow from the first version to half of each, and then to the second.
func (w *world) switchVersions() {
	shares := [][]eventstore.Target{{{Version: 1, Weight: 1}}, {{Version: 1, Weight: 1}, {Version: 2, Weight: 1}}, {{Version: 2, Weight: 1}}}
	at := time.Duration(0)
	for i, targets := range shares {
		w.in(at, func() {
			for _, name := range w.workflows {
				a := eventstore.Alias{Tenant: tenant, Workflow: name, Name: "live", Revision: uint64(i) + 1, Targets: targets}
				if err := w.store.PutAlias(background(), a); err != nil {
					w.violation("alias of %s: %v", name, err)
				}
			}
		})
		at += w.between(time.Second, 3*time.Minute)
	}
}
