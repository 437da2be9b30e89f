package sim

import (
	"errors"
	"io"
	"regexp"
	"time"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow/codec"
)

// retention is how long executions are kept after their end.
const retention = 2 * time.Hour

// afterlife lets the time of retention pass and removes what has had its time, under faults again: in the end nothing is left, no payload either.
func (w *world) afterlife() {
	for settled := w.now + int64(time.Hour); w.now < settled && w.step(); { // queues still hold messages about what has ended
	}
	w.now += int64(retention - time.Hour)
	w.faultsUntil = w.now + int64(3*time.Hour)
	end := w.now + int64(5*24*time.Hour) // what could not be removed at first is looked at again a day later
	w.in(0, w.purge)
	for !w.empty() && w.now < end && w.step() {
	}
	rows, _, err := w.store.List(background(), tenant, eventstore.Filter{}, eventstore.Page{Limit: eventstore.MaxPage})
	if err != nil {
		w.violation("list: %v", err)
	}
	for _, r := range rows {
		w.violation("%s: it is never removed: %+v", r.Stream.ID, r)
	}
	if n := w.payloads.Stored(); len(rows) == 0 && n > 0 {
		w.violation("%d payloads are left that nobody holds", n)
	}
}

func (w *world) empty() bool {
	rows, _, err := w.store.List(background(), tenant, eventstore.Filter{}, eventstore.Page{Limit: 1})
	return err == nil && len(rows) == 0 && w.payloads.Stored() == 0
}

// purge lets a process remove what has had its time. Whatever was removed before, the others still have their payloads.
func (w *world) purge() {
	for _, l := range w.sorted() {
		if _, err := w.store.Row(background(), l.stream); err == nil && !w.released[l.stream] {
			w.checkPayloads(l)
		}
	}
	w.orchestrator().start(func(r *routine) {
		for shard := range eventstore.Shards {
			if _, err := r.p.worker.Purge(background(), shard, r.p.now()); err != nil {
				w.note("%s: purge: %v", r.p.worker.Name, err)
			}
		}
	}, func() {})
	w.in(w.between(time.Minute, time.Hour), w.purge)
}

// reference is a reference to a payload in the text of an event.
var reference = regexp.MustCompile(`"hash":"([0-9a-f]{64})","size":([0-9]+)`)

// checkPayloads looks whether everything is there that a history refers to: others may have been removed, but this execution holds it too.
func (w *world) checkPayloads(l *ledger) {
	text, err := codec.JSON{}.Encode(&codec.Batch{Events: events(l)})
	if err != nil {
		w.violation("%s: its events cannot be written: %v", l.stream.ID, err)
		return
	}
	seen := map[string]bool{}
	for _, found := range reference.FindAllStringSubmatch(string(text), -1) {
		name := "sha256:" + found[1] + ":" + found[2]
		if seen[name] {
			continue
		}
		seen[name] = true
		w.report.Payloads++
		if err := w.readPayload(name); err != nil {
			w.violation("%s: %v", l.stream.ID, err)
		}
	}
}

func (w *world) readPayload(name string) error {
	ref, err := eventstore.ParseRef(name)
	if err != nil {
		return err
	}
	r, err := w.payloads.Open(background(), tenant, ref)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r)
	return errors.Join(err, r.Close())
}
