package sim

import (
	"io"
	"time"

	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Rates are how often faults happen: once in so many times; 0 is never.
type Rates struct {
	Crash         int // of a process, before an effect
	LostAnswer    int // of a write or a send
	Unavailable   int // a call that does nothing
	Duplicate     int // a task or a timer comes twice
	Lose          int // a task, message or timer never comes
	Slow          int // an effect or delivery takes a minute
	Early         int // a timer fires early
	ActivityFails int

	// Partition cuts a process off from everything for a while, Freeze lets it sleep (past its leases), Outage takes the store away from
	// all: each once in so many minutes.
	// Drain lets a process hand over and end a while later, as in a deploy.
	Partition, Freeze, Outage, Drain int
	// Skew is how far the clock of a process may be wrong.
	Skew time.Duration
}

// HeavyRates make nearly everything go wrong within a few executions.
func HeavyRates() Rates {
	return Rates{Crash: 60, LostAnswer: 40, Unavailable: 80, Duplicate: 15, Lose: 60, Slow: 40, Early: 8, ActivityFails: 12,
		Partition: 4, Freeze: 4, Outage: 6, Drain: 6, Skew: 5 * time.Second}
}

// UnsweptRates are for runs without a sweep: nothing is lost for good, so that every message that is owed must come again by itself.
func UnsweptRates() Rates {
	r := HeavyRates()
	r.Lose = 0
	return r
}

// CalmRates only lose answers and deliver twice: no worker stops or sleeps, so none may be taken for lost.
func CalmRates() Rates {
	return Rates{LostAnswer: 15, Duplicate: 8, Early: 4}
}

// calm reports whether every worker is at work all the time.
func (r Rates) calm() bool {
	return r.Crash == 0 && r.Unavailable == 0 && r.Lose == 0 && r.Slow == 0 && r.Partition == 0 && r.Freeze == 0 && r.Outage == 0 && r.Drain == 0
}

// Config is one simulation.
type Config struct {
	Seed uint64
	// Processes is how many there are of each class, in the order of Classes.
	Processes [len(classes)]int
	Rates     Rates
	// Gone lets workers know which others are dead, as on one machine.
	Gone bool
	// Many makes workers behave as on a platform of many small ones: results of a crowd go to the inbox, and rows are left out that say nothing new.
	// Derived, beside it, makes rows come some time after their commits, and twice; and a task stays hidden for as long as an invocation may last, until
	// it has run for a moment (commit protocol, points 13 and 14).
	Many, Derived bool
	// Unswept lets no sweep run.
	Unswept bool
	// Faults is how long faults happen, in virtual time. Afterwards everything must end within Patience.
	Faults, Patience time.Duration
	// Scenarios are what runs; each of Executions picks one.
	Scenarios  []Scenario
	Executions int
	// Bug is a bug of the simulated platform, for showing that the checkers see it.
	Bug Bug
	// Trace hears what happens; nil: nobody.
	Trace io.Writer
}

// The worker classes of the simulation: the function `second` runs in a class of its own, `outside` in one that may not write
// histories (commit protocol, point 15).
const (
	classDefault = iota
	classSecond
	classOutside
)

var classes = [...]string{worker.DefaultClass, "second", "outside"}

func route(_, name string) string {
	switch name {
	case classes[classSecond], classes[classOutside]:
		return name
	}
	return worker.DefaultClass
}

// Scenario is a workflow with what comes to it from outside.
type Scenario struct {
	Name string
	// OneIn makes a scenario rare: it is picked once in so many times; 0: always.
	OneIn int
	// Definitions are the workflow and those that it starts; the first is the one to run.
	Definitions []*workflow.Definition
	Input       workflow.Value
	// Outside lists what may come from outside, at random times.
	Outside []Outside
	// Hangs says that workers fall silent by themselves, without a fault.
	Hangs bool
	// Outcomes are those that the execution may have; empty: any.
	Outcomes []string
}

// Outside is one input from outside. Exactly one of the pointers is set, or Redrive.
type Outside struct {
	// Within bounds the random time after the start.
	Within time.Duration
	// OneIn lets it come once in so many runs; 0: always.
	OneIn int
	// Again sends it again, as a new one, until the execution has ended: it may come too early.
	Again    bool
	Event    *worker.Event
	Signal   *workflow.ExternalEvent
	Decision *workflow.TaskDecision
	Cancel   *workflow.Cancel
	Move     *workflow.OperatorMove
	// Redrive goes on from the execution when it has failed or was cancelled.
	Redrive bool
}

// Report is what a run came to.
type Report struct {
	Seed       uint64
	Violations []string
	// Effects counts effects on the outside, Crashes the processes that died, Commits the stored decisions, Activities the runs of activities.
	Effects, Crashes, Commits, Activities int
	// Outcomes counts how executions ended.
	Outcomes map[string]int
	// Receives is the most that one task was received.
	Receives int
	// Unguarded counts commits by a receive that slept while another one acknowledged its message: what they ask for only a sweep repeats.
	Unguarded int
	// Payloads counts references in histories that were followed to what is stored.
	Payloads int
	// Virtual is how long it took, in virtual time.
	Virtual time.Duration
}
