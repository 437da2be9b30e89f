package worker

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/schema"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Worker handles messages of one platform. Its exported fields are set once, before the first message.
type Worker struct {
	// Name is this process and incarnation: never used twice. It owns the executions it commits to (WF-002 §11).
	Name string
	// Class is the worker class whose tasks it runs, and Commits whether it may write histories (commit protocol, point 15). One that
	// may not answers to the inbox.
	Class   string
	Commits bool

	Store    Store
	Payloads eventstore.PayloadStore
	Programs *Programs
	Clock    Clock
	Entropy  Entropy
	Inbox    Inbox
	Tasks    Tasks
	Timers   Timers
	// Activities are the kinds that this worker runs.
	Activities *activity.Registry
	// Route gives the worker class of an activity; nil: all are of class "default".
	Route func(kind, name string) string
	// Memory is how many bytes of memory a worker of a class has; 0: more than any activity asks for. Nil: 0 for all. A step whose max_memory is
	// higher fails before it is dispatched, with limits.memory.
	Memory func(class string) int64
	// Gone reports that a worker is known to be dead, so that its leases need not run out; nil: nobody is.
	Gone func(worker string) bool
	// Resolve gives the value of a secret for an activity's input.
	Secrets Secrets
	// Links makes the addresses that callbacks and tasks are answered at.
	Links Links

	// Committed hears of each commit of this worker, after it is stored and before anything is sent; nil: nobody does. It must not
	// keep the state.
	Committed func(s eventstore.Stream, events []workflow.Recorded, state *workflow.State)

	// SparseRows leaves out the row of a commit that says nothing new in lists or to the sweep, only that the execution has moved: for stores whose
	// index is derived from the commits and paid by the row.
	SparseRows bool

	// Redelivers take dead letters of the platform's own queues in once more, by the names of the queues; nil: it has none.
	Redelivers map[string]func(ctx context.Context, d eventstore.DeadLetter) error

	// Announces says of which events the platform tells the outside, beside those that workflows emit; nil: of none.
	Announces func(e workflow.Event) bool

	Limits Limits
	Log    *slog.Logger

	schemas  *schema.Checker
	draining atomic.Bool
	mu       sync.Mutex
	deciding map[eventstore.Stream]int
	running  map[eventstore.Stream]map[*runner]bool
	warm     *lru.Cache[eventstore.Stream, *execution]
}

// maxWarm is how many executions a worker keeps in memory between their messages.
const maxWarm = 4096

// Init checks the fields and makes the worker ready.
func (w *Worker) Init() error {
	cache, err := lru.New[eventstore.Stream, *execution](maxWarm)
	if err != nil {
		return err
	}
	w.warm, w.deciding, w.schemas = cache, map[eventstore.Stream]int{}, schema.New()
	w.running = map[eventstore.Stream]map[*runner]bool{}
	if w.Log == nil {
		w.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}

// DefaultClass is the worker class of activities that no route names.
const DefaultClass = "default"

func (w *Worker) classOf(kind, name string) string {
	if w.Route == nil {
		return DefaultClass
	}
	return w.Route(kind, name)
}

// memoryOf is how many bytes of memory the workers have that run an activity.
func (w *Worker) memoryOf(kind, name string) int64 {
	if w.Memory == nil {
		return 0
	}
	return w.Memory(w.classOf(kind, name))
}

func (w *Worker) gone(worker string) bool { return w.Gone != nil && worker != w.Name && w.Gone(worker) }

// Drain lets running chains hand over after their present step: what is scheduled next goes to the queue.
func (w *Worker) Drain() { w.draining.Store(true) }
