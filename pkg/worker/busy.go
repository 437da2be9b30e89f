package worker

import "github.com/wovyr/wovyr/pkg/eventstore"

// enter notes that a decision on an execution is being made here. It locks nothing: conditional writes keep decisions apart.
func (w *Worker) enter(s eventstore.Stream) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deciding[s]++
}

func (w *Worker) leave(s eventstore.Stream) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.deciding[s]--; w.deciding[s] == 0 {
		delete(w.deciding, s)
	}
}

// busy reports whether a decision on an execution is being made here, so that another one would meet a conflict.
func (w *Worker) busy(s eventstore.Stream) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.deciding[s] > 0
}
