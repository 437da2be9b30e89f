package sqlite

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// The bounds of one transaction.
const (
	maxBatch      = 512
	maxBatchBytes = 8 << 20
)

// writer owns the connection that writes. Callers queue; the first becomes the leader and runs a transaction for all that are
// there, in its own goroutine, so that a single caller pays for no switch; then the first of those who came meanwhile leads.
type writer struct {
	mu      sync.Mutex
	queue   []*request
	leading bool

	// All below is the leader's.
	conn                 *conn
	batch                []*request
	streams              streamCache
	writes, transactions atomic.Int64

	// broken is set when a commit failed and not for want of room: what the file then holds is known only after it was opened again.
	broken error
	file   string
}

// request is one caller's write.
type request struct {
	size int // bytes, about
	do   func(*writer) error
	err  error
	// wake tells a waiting caller that its request is done, or with true that it leads now.
	wake chan bool
}

var requests = sync.Pool{New: func() any { return &request{wake: make(chan bool, 1)} }}

func newWriter(c *conn, file string) *writer { return &writer{conn: c, file: file} }

// submit runs do in a transaction and returns its error, or that of the transaction.
func (w *writer) submit(size int, do func(*writer) error) error {
	r := requests.Get().(*request)
	r.size, r.do, r.err = size, do, nil
	w.mu.Lock()
	w.queue = append(w.queue, r)
	lead := !w.leading
	w.leading = true
	w.mu.Unlock()
	if lead || <-r.wake {
		w.lead()
	}
	err := r.err
	r.do = nil
	requests.Put(r)
	return err
}

// lead runs one transaction. The leader's own request is the first in the queue.
func (w *writer) lead() {
	// Others are often about to write too: those whose writes were just done, to begin with. Let them run until they queue. With 8
	// writers that doubles the batch and saves a third of the processor time of a write; alone, it costs nothing.
	runtime.Gosched()
	w.mu.Lock()
	n, bytes := 1, w.queue[0].size
	for n < len(w.queue) && n < maxBatch && bytes+w.queue[n].size <= maxBatchBytes {
		bytes += w.queue[n].size
		n++
	}
	batch := append(w.batch[:0], w.queue[:n]...)
	w.queue = append(w.queue[:0], w.queue[n:]...)
	w.mu.Unlock()

	w.transact(batch)
	for _, r := range batch[1:] {
		r.wake <- false
	}
	w.batch = batch[:0]

	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		w.leading = false
		return
	}
	w.queue[0].wake <- true
}

// transact runs the requests of a batch in one transaction and leaves its outcome in each.
func (w *writer) transact(batch []*request) {
	fail := func(err error) {
		for _, r := range batch {
			r.err = err
		}
	}
	if w.broken != nil {
		fail(w.unavailable(w.broken))
		return
	}
	w.writes.Add(int64(len(batch)))
	w.transactions.Add(1)
	err := w.run("BEGIN IMMEDIATE")
	for i := 0; err == nil && i < len(batch); i++ {
		var db *dbError
		if batch[i].err = batch[i].do(w); errors.As(batch[i].err, &db) {
			err = db
		}
	}
	if err != nil {
		w.rollback()
		fail(w.unavailable(explain(w.file, err)))
		return
	}
	if err := w.run("COMMIT"); err != nil {
		// The log may hold the commit already, and a restart may find it there.
		w.rollback()
		err = explain(w.file, err)
		if !full(err) {
			// A file whose fsync failed is not to be trusted by the one who has it open. Where there was no room, what stands in the log is
			// overwritten by the next commit.
			w.broken = &BrokenError{w.file, err}
			err = w.broken
		}
		fail(&eventstore.UnknownOutcomeError{Op: "write", Tries: 1, Err: err})
	}
}

// unavailable says that nothing was written.
func (w *writer) unavailable(err error) error {
	return &eventstore.UnavailableError{Op: "write", Err: err}
}

func (w *writer) run(query string) error {
	_, err := w.conn.exec(query)
	return err
}

// rollback ends the transaction, if there still is one, and forgets what it may have told the cache.
func (w *writer) rollback() {
	w.streams.clear()
	_ = w.run("ROLLBACK") // fails if SQLite has rolled back by itself; else the next BEGIN fails and says so
}
