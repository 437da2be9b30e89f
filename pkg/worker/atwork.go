package worker

import (
	"context"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// runner is one run of an attempt in this process.
type runner struct {
	ref    workflow.AttemptRef
	cancel context.CancelCauseFunc
}

// atWork notes that an attempt runs here, until the returned function is called: a commit of this worker that ends the attempt tells it at
// once, by cancel with errLost. Commits of other workers it hears of when it extends its lease.
func (w *Worker) atWork(s eventstore.Stream, ref workflow.AttemptRef, cancel context.CancelCauseFunc) (over func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &runner{ref, cancel}
	if w.running[s] == nil {
		w.running[s] = map[*runner]bool{}
	}
	w.running[s][r] = true
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if delete(w.running[s], r); len(w.running[s]) == 0 {
			delete(w.running, s)
		}
	}
}

// tellEnded cancels the attempts that run here and that a commit has ended: cancelled, timed out, given up. One whose result came by a callback
// may finish its call.
func (w *Worker) tellEnded(x *execution, events []workflow.Recorded) {
	if !endsAttempts(events) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for r := range w.running[x.stream] { // order-free: each is told
		if _, open := attempt(x, r.ref); !open {
			r.cancel(errLost)
		}
	}
}

// endsAttempts reports whether events may end attempts that run.
func endsAttempts(events []workflow.Recorded) bool {
	for _, e := range events {
		switch e.Event.(type) {
		case workflow.ActivityFailed, workflow.LeaseExpired:
			return true
		}
	}
	return false
}
