package estimate

import (
	"cmp"
	"maps"
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/wovyr/wovyr/pkg/aws/meter"
	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/client"
)

// Estimate is what an execution uses on AWS, so far.
type Estimate struct {
	Execution, Workflow string
	// Commits are those of the history as AWS would have it; Steps are the steps that ran or waited, each once however often it was tried. A
	// foreach or a group is none, what is in it is.
	Commits, Steps int
	// Ended says that the execution has ended: nothing comes any more.
	Ended bool
	// Parts say what each step uses, in the order in which they began; first that of the execution as a whole: its start, its row in lists, its
	// events on the bus.
	Parts []Part
	// Work is the time in which the steps' own code worked, at most: it is not in the Parts. GBSeconds is that time in the function of the engine's
	// own class.
	Work      time.Duration
	GBSeconds float64
}

// Part is what a step uses.
type Part struct {
	// Step is empty for the execution as a whole. Of steps in a foreach the index is an asterisk: "each/*/one".
	Step string
	// Runs is how often it ran.
	Runs  int
	Units map[meter.Unit]float64
}

// Units is what all parts use.
func (e Estimate) Units() map[meter.Unit]float64 {
	out := units{}
	for _, p := range e.Parts {
		for of, n := range p.Units { // order-free: sums
			out[of] += n
		}
	}
	return out
}

// Of estimates an execution from its whole history, as the API tells it, oldest event first. The error is a *SizelessError if the server is too old to
// say how large commits are.
func Of(history []client.Event) (Estimate, error) {
	raw, err := commits(history)
	if err != nil {
		return Estimate{}, err
	}
	if len(raw) == 0 {
		return Estimate{}, nil
	}
	a := &account{parts: map[string]*Part{}, crowded: crowds(raw), begun: map[string]time.Time{}}
	list := merged(raw, a.crowded)
	a.execution(list)
	for i := range list {
		a.commit(&list[i])
	}
	for _, step := range a.waking { // they look, and find nothing due
		a.of(step)
		a.received(engine, meter.FIFOQueue)
		a.read(engine, 1)
	}
	a.publisher(list)
	a.out.Commits = len(list)
	for _, name := range a.order {
		a.out.Parts = append(a.out.Parts, *a.parts[name])
	}
	a.out.GBSeconds = activity.gbSeconds(a.out.Work.Seconds() * 1000)
	return a.out, nil
}

// account adds up.
type account struct {
	out   Estimate
	parts map[string]*Part
	order []string
	// owners are whom the current use is charged with, in equal parts.
	owners []string

	crowded map[string]bool
	// begun is when a step's own code began that runs in the same invocation as the one before; chain is when that invocation began, shown that it
	// has lasted for longer than its message is hidden without being asked to.
	begun map[string]time.Time
	chain time.Time
	shown bool

	timers deadlines
	// waking are the steps whose timers are armed, and have not moved the execution.
	waking []string
	child  bool
	// words is how many steps the document has, as far as they ran.
	words int
	// fixed is what each item of the execution takes beside the commit's data; row the same for its row.
	fixed, row int
	index      rows
}

// scopes are the names of steps without the indexes of what they stand in.
var scopes = regexp.MustCompile(`/\d+(/|$)`)

func nameOf(step string) string { return scopes.ReplaceAllString(step, "/*$1") }

func (a *account) part(step string) *Part {
	name := nameOf(step)
	if a.parts[name] == nil {
		a.parts[name] = &Part{Step: name, Units: units{}}
		a.order = append(a.order, name)
	}
	return a.parts[name]
}

// add charges the owners. Nothing of a unit leaves no trace.
func (a *account) add(of meter.Unit, n float64) {
	if n == 0 {
		return
	}
	for _, step := range a.owners {
		a.part(step).Units[of] += n / float64(len(a.owners))
	}
}

// of names the owners of what follows; nobody: the execution.
func (a *account) of(steps ...string) {
	if len(steps) == 0 {
		steps = []string{""}
	}
	a.owners = steps
}

// takes is the time of calls of a service in a function, one after another, in milliseconds.
func (a *account) takes(f function, calls int, each float64) {
	a.add(memoryOf, f.gbSeconds(float64(calls)*(each+f.busy())))
}

const memoryOf = meter.GBSecond

// invoke is an invocation, and what it takes by itself.
func (a *account) invoke(f function) {
	a.add(meter.Invocation, 1)
	a.add(memoryOf, f.gbSeconds(f.busy()+rounding))
}

// send sends messages to a queue from a function, in as few calls as it can.
func (a *account) send(f function, to meter.Unit, messages int) {
	calls := (messages + sendBatch - 1) / sendBatch
	a.add(to, float64(calls))
	a.takes(f, calls, queueSend)
}

// received is what Lambda does around an invocation for messages: a receive and a delete.
func (a *account) received(f function, from meter.Unit) {
	a.add(from, 2)
	a.invoke(f)
}

func (a *account) read(f function, reads float64) {
	a.add(meter.Read, reads)
	a.takes(f, int(math.Ceil(reads)), tableRead)
}

// execution reads the first commit for what concerns all.
func (a *account) execution(list []commit) {
	a.of()
	a.part("") // stands first
	list[0].each("WorkflowCreated", func(e *event) {
		a.out.Execution, a.out.Workflow, a.child = e.said.Execution, e.said.Workflow, e.said.Origin.Parent != nil
		a.fixed, a.row = itemBytes+len(e.said.Tenant)+len(e.said.Execution)+len("x/"), rowBytes+len(e.said.Workflow)
	})
	steps, scopes := map[string]bool{}, map[string]bool{}
	for i := range list {
		for _, kind := range []string{"ItemsSet", "ScopeOpened"} {
			list[i].each(kind, func(e *event) { scopes[e.Step] = true })
		}
		list[i].each("ActivityScheduled", func(e *event) {
			if !e.said.Walked {
				steps[e.Step] = true
			}
		})
		a.out.Ended = a.out.Ended || list[i].has(ends...)
	}
	names := map[string]bool{}
	for step := range steps { // order-free: counts
		if names[nameOf(step)] = true; !scopes[step] {
			a.out.Steps++
		}
	}
	a.words = len(names)
}

// ends are the events after which an execution has ended.
var ends = []string{"WorkflowCompleted", "WorkflowFailed", "WorkflowCancelled"}

// brought are the events that a message to the execution's inbox brings.
var brought = []string{"TimerFired", "TimeoutFired", "LeaseExpired", "EventReceived", "TaskDecided", "ChildStarted", "ChildEnded", "OperatorMoved", "CancelRequested"}

// byPeople are those of them that begin with a request at the API.
var byPeople = []string{"TaskDecided", "OperatorMoved", "CancelRequested", "EventReceived"}

// commit adds what a commit costs: who makes it, its writes, what it sends.
func (a *account) commit(c *commit) {
	f := a.carrier(c)
	a.of(c.owners()...)
	row := a.index.next(c, &a.timers)
	size := a.fixed + c.bytes
	if row {
		size += a.row
	}
	a.add(meter.Write, writeUnits(size))
	a.takes(f, 1, tableWrite)
	a.payloads(f, c)
	a.tasks(f, c)
	a.messages(f, c)
	a.arm(f, c)
	c.each("ActivityScheduled", func(e *event) {
		if !e.said.Walked {
			a.part(e.Step).Runs++
		}
	})
}

// owners are the steps that a commit is about: those that ended in it, else those that waited for it, else nobody in particular.
func (c *commit) owners() []string {
	for _, kinds := range [][]string{{"ActivityStarted"}, {"ActivityCompleted", "ActivityFailed"}, brought} {
		var out []string
		for i := range c.events {
			e := &c.events[i]
			claimed := e.Type != "ActivityStarted" || e.said.Started > 0
			if e.Step != "" && claimed && slices.Contains(kinds, e.Type) {
				out = append(out, e.Step)
			}
		}
		if len(out) > 0 && !c.has("WorkflowCreated") {
			return out
		}
	}
	return nil
}

// carrier adds what brings a commit about, and returns the function that makes it.
func (a *account) carrier(c *commit) function {
	a.of()
	if c.has("WorkflowCreated") {
		if a.child {
			a.received(engine, meter.FIFOQueue)
			a.read(engine, 1)
			return engine
		}
		a.add(meter.HTTPRequest, 1)
		a.invoke(engine)
		a.read(engine, 2+math.Ceil(float64(a.words*stepBytes)/readUnit))
		return engine
	}
	direct, results := false, 0
	var answers []string
	c.each("ActivityStarted", func(e *event) {
		if e.said.Started == 0 {
			return
		}
		results++
		direct = direct || e.direct() && !a.crowded[e.Step]
		a.of(e.Step)
		a.attempt(e, c.at)
		if !e.direct() && !a.crowded[e.Step] { // whoever ran it was not to write, or another one of its sandbox was about to
			answers = append(answers, e.Step)
		}
	})
	if len(answers) > 0 {
		a.of(answers...)
		a.send(activity, meter.FIFOQueue, len(answers))
	}
	chained := false
	for i := range c.events {
		if e := &c.events[i]; e.Type == "ActivityCompleted" || e.Type == "ActivityFailed" {
			if since, ok := a.begun[e.Step]; ok {
				chained = true
				a.out.Work += c.at.Sub(since)
				delete(a.begun, e.Step)
			}
		}
	}
	c.each("ActivityStarted", func(e *event) {
		if e.said.Lease > 0 && e.said.Started == 0 {
			a.begun[e.Step] = c.at
		}
	})
	a.of(c.owners()...)
	switch {
	case direct:
		return activity
	case chained && !c.has(brought...):
		a.lasts(c.at)
		return activity
	}
	itself := results == 0 && !c.has(brought...) // the execution went on by a timer, or by a message to itself
	timed := itself && a.timers.rang(c.at) || c.has("TimerFired", "TimeoutFired")
	if n := len(a.waking); n > 0 && timed {
		a.waking = a.waking[:n-1]
	}
	a.received(engine, meter.FIFOQueue)
	a.read(engine, 1)
	for i := range c.events {
		if e := &c.events[i]; slices.Contains(byPeople, e.Type) {
			a.request(e)
		}
	}
	if itself && !timed {
		a.send(engine, meter.FIFOQueue, 1)
	}
	return engine
}

// request is one at the API that became a message to the inbox. A published event is stored besides.
func (a *account) request(e *event) {
	a.add(meter.HTTPRequest, 1)
	a.invoke(engine)
	a.read(engine, 2)
	if e.said.Outside.Number > 0 {
		a.published()
	}
	a.send(engine, meter.FIFOQueue, 1)
}

// published adds an event for whoever waits for it: stored, and handed on.
func (a *account) published() {
	a.add(meter.Write, eventWrites)
	a.takes(engine, 1, tableWrite)
	a.read(engine, eventReads)
}

// attempt adds what a claimed attempt that ended took, beside the message that brought it.
func (a *account) attempt(e *event, end time.Time) {
	began := time.Unix(0, e.said.Started)
	worked := max(0, end.Sub(began))
	a.out.Work += worked
	beats := float64(worked / heartbeat)
	a.add(meter.Write, 1+beats) // the claim, whose time tasks has
	a.add(meter.Queue, beats)
	if a.chain, a.shown = began, false; e.direct() {
		a.lasts(end)
	} else if worked > hidden {
		a.add(meter.Queue, 1)
	}
}

// lasts says that the invocation which runs one step after another is still at it: its message is hidden for longer, once.
func (a *account) lasts(at time.Time) {
	if !a.shown && at.Sub(a.chain) > hidden {
		a.shown = true
		a.add(meter.Queue, 1)
		a.takes(activity, 1, queueSend)
	}
}

// payloads adds large values: those that steps bring are stored, those that they get are read.
func (a *account) payloads(f function, c *commit) {
	for i := range c.events {
		e := &c.events[i]
		switch n := e.references(); e.Type {
		case "WorkflowCreated", "ActivityCompleted":
			a.add(meter.ObjectWrite, float64(n*markWrites))
			a.add(meter.ObjectRead, float64(n))
			a.takes(f, n*markWrites, objectWrite)
			a.takes(f, n, objectRead)
		case "ActivityScheduled":
			a.add(meter.ObjectRead, float64(n))
			a.takes(activity, n, objectRead)
		}
	}
}

// tasks adds the attempts that go through a queue: the sends, and the invocations that receive them.
func (a *account) tasks(f function, c *commit) {
	queued := c.queued()
	if len(queued) == 0 {
		return
	}
	a.of(queued...)
	a.send(f, meter.Queue, len(queued))
	for n := len(queued); n > 0; n -= stack.OwnTasksBatch {
		a.received(activity, meter.Queue)
		a.takes(activity, 1, tableWrite) // the claims, all at once
		if len(queued) < crowd {
			a.read(activity, 1)
			continue
		}
		sends := min(n, crowdSends)
		a.add(meter.FIFOQueue, float64(sends))
		a.takes(activity, sends, queueSend)
	}
}

// messages adds what goes to other executions, and what waits for events.
func (a *account) messages(f function, c *commit) {
	c.each("ChildRequested", func(e *event) {
		a.of(e.Step)
		a.send(f, meter.FIFOQueue, 2)
	})
	c.each("EventAwaited", func(e *event) { // a subscription, and a look at what came before it
		a.of(e.Step)
		a.add(meter.Write, 1)
		a.takes(f, 1, tableWrite)
		a.read(f, 1)
	})
	if a.child && c.has(ends...) {
		a.of()
		a.send(f, meter.FIFOQueue, 1)
		a.add(meter.Write, noticeWrites)
		a.takes(f, noticeWrites, tableWrite)
	}
}

// arm arms a timer, unless one that is early enough is armed.
func (a *account) arm(f function, c *commit) {
	t, armed := a.timers.arm(c)
	if !armed {
		return
	}
	a.of(t.step)
	if t.rest > stack.MaxDelay { // an entry, which fires early and is delayed exactly
		a.add(meter.Schedule, 1)
		a.add(meter.Queue, 1)
		a.takes(f, 1, scheduleMake)
		a.received(engine, meter.Queue)
		a.send(engine, meter.Queue, 1)
	} else {
		a.send(f, meter.Queue, 1)
	}
	a.received(engine, meter.Queue)
	a.send(engine, meter.FIFOQueue, 1)
	a.waking = append(a.waking, t.step)
}

// Order sorts units by what they cost, the dearest first.
func Order(all map[meter.Unit]float64, dollars func(meter.Unit, float64) float64) []meter.Unit {
	return slices.SortedFunc(maps.Keys(all), func(x, y meter.Unit) int {
		return cmp.Or(cmp.Compare(dollars(y, all[y]), dollars(x, all[x])), cmp.Compare(x, y))
	})
}
