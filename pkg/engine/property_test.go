package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// TestRandomWorkflows runs random workflows with inputs in random order: results, failures, lost workers, timers, events,
// decisions, children's ends, cancels, operators; several in one commit; doubled, late, and out of the blue. Decisions are
// lost (a crash before the commit), states are loaded from their bytes (a crash behind it). Each decision is held to the laws of
// execution_test.go; the history as a whole, to those of checkHistory. A workflow that is treated fairly comes to its end.
func TestRandomWorkflows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := &author{T: t}
		text := a.workflow()
		def, found := dsl.Compile("random.yaml", []byte(text))
		if def == nil {
			t.Fatalf("the generator wrote what the compiler refuses: %v\n%s", found, text)
		}
		x, err := newExecution("ex", def)
		require.NoError(t, err)
		d := &driver{T: t, x: x, now: storyStart}
		defer func() {
			if t.Failed() {
				t.Logf("%s\n%s", text, d.told())
			}
		}()
		d.run()
	})
}

// driver plays the world around one execution.
type driver struct {
	*rapid.T
	x      *execution
	now    int64
	ids    int
	past   []workflow.Input
	story  []string
	cancel bool
}

func (d *driver) told() string { return strings.Join(d.story, "\n") }

func (d *driver) one(in int, what string) bool { return rapid.IntRange(0, in-1).Draw(d.T, what) == 0 }

func (d *driver) id() string {
	d.ids++
	return fmt.Sprintf("i%d", d.ids)
}

// maxRounds is far above what the generator's workflows need.
const maxRounds = 600

func (d *driver) run() {
	start := workflow.Start{Execution: "ex", Tenant: "acme", Workflow: "random", Definition: "1", Hash: "h",
		Input: workflow.Inline(workflow.Value(`{"n":1,"no":false,"yes":true}`))}
	d.runFrom(start)
}

func (d *driver) runFrom(start workflow.Start) {
	d.decide(start)
	for round := 0; !d.x.state.Status.Terminal(); round++ {
		require.Less(d.T, round, maxRounds, "it does not end")
		d.round(round > maxRounds/2)
	}
	for range 3 { // nothing changes what has ended
		events := len(d.x.events)
		d.decide(rapid.SampledFrom(append(d.past, workflow.Tick{})).Draw(d.T, "late"))
		require.Len(d.T, d.x.events, events, "terminal is final")
	}
	checkHistory(d.T, d.x)
	d.redrive()
}

// redrive lets a new execution take over what an ended one completed: nothing of it runs again, and the laws hold there too.
func (d *driver) redrive() {
	s := d.x.state
	if s.Status == fsm.WorkflowStateCompleted() || s.Compensated || d.x.id != "ex" || !d.one(2, "redrive") {
		return
	}
	o := engine.RedriveOptions{Execution: "ex2", Definition: "1", Hash: "h"}
	if d.one(2, "from") {
		o.From = []string{rapid.SampledFrom(d.x.def.Body.Steps).Draw(d.T, "step").Name}
	}
	start, err := engine.Redrive(d.x.program, d.x.events, o)
	require.NoError(d.T, err)
	x, err := newExecution("ex2", d.x.def)
	require.NoError(d.T, err)
	next := &driver{T: d.T, x: x, now: d.now, ids: d.ids}
	defer func() { d.story = append(d.story, "--- redrive", next.told()) }()
	next.runFrom(start)
	taken := map[string]bool{}
	for _, k := range start.Origin.Redrive.Taken {
		taken[k.Step] = k.Status.Ended()
	}
	for _, r := range x.events {
		if e, ok := r.Event.(workflow.ScopeOpened); ok {
			delete(taken, e.Step) // entered: what is inside it sets variables or can be undone, and is taken over itself
		}
	}
	for _, r := range x.events {
		if e, ok := r.Event.(workflow.ActivityStarted); ok && taken[e.Step] {
			require.True(d.T, e.Walked, "%s was taken over, and ran", e.Step)
		}
	}
}

// round hands in one or a few inputs. calm: no more mischief, so that it comes to its end.
func (d *driver) round(calm bool) {
	if !calm && d.one(8, "crash") { // a decision is made and lost
		s, err := decodeState(d.x.checkpoints[len(d.x.checkpoints)-1])
		require.NoError(d.T, err)
		turn(d.x.program, s, engine.Env{Now: d.now, Worker: "w-lost"}, []workflow.Input{d.next(calm)})
	}
	if !calm && d.one(6, "reload") {
		s, err := decodeState(d.x.checkpoints[len(d.x.checkpoints)-1])
		require.NoError(d.T, err)
		d.x.state = s
	}
	inputs := []workflow.Input{d.next(calm)}
	for !calm && len(inputs) < 3 && d.one(4, "batch") {
		inputs = append(inputs, d.next(calm))
	}
	if !calm && d.one(4, "double") {
		inputs = append(inputs, rapid.SampledFrom(d.past).Draw(d.T, "again"))
	}
	d.decide(inputs...)
}

func (d *driver) decide(inputs ...workflow.Input) {
	for _, in := range inputs {
		d.story = append(d.story, fmt.Sprintf("%s %s", showTime(d.now), showNoun(in.InputType(), in)))
	}
	d.past = append(d.past, inputs...)
	worker := "w1"
	if d.one(20, "worker") {
		worker = "w2"
	}
	decision, _, err := d.x.decide(engine.Env{Now: d.now, Worker: worker, By: d.id()}, inputs...)
	d.story = append(d.story, showDecision(decision), showStatus(d.x.program, d.x.state))
	require.NoError(d.T, err)
}

// next chooses something that may happen now.
func (d *driver) next(calm bool) workflow.Input {
	if !calm && !d.cancel && d.one(60, "cancel") {
		d.cancel = true
		return workflow.Cancel{ID: d.id(), Origin: workflow.OriginUser,
			Mode: rapid.SampledFrom([]workflow.CancelMode{workflow.CancelImmediate, workflow.CancelGraceful, workflow.CancelCompensated}).Draw(d.T, "mode")}
	}
	if !calm && d.one(15, "noise") {
		return d.noise()
	}
	all := engine.Outstanding(d.x.program, d.x.state)
	if at, ok := engine.Due(d.x.program, d.x.state); ok && (len(all) == 0 || d.one(len(all)+1, "time")) {
		d.now = max(d.now, at)
		return workflow.Tick{}
	}
	if len(all) == 0 {
		return workflow.Continue{}
	}
	return d.answer(rapid.SampledFrom(all).Draw(d.T, "command"), calm)
}

// answer carries out a command, well or badly.
func (d *driver) answer(c workflow.Command, calm bool) workflow.Input {
	switch c := c.(type) {
	case workflow.RunActivity:
		return d.work(c, calm)
	case workflow.WakeAt:
		d.now = max(d.now, c.At)
		return workflow.Tick{}
	case workflow.StartChild:
		if d.one(3, "begun") {
			return workflow.ChildBegun{Step: c.Step, Child: c.Child}
		}
		return d.endChild(c, calm)
	case workflow.CancelChild:
		return workflow.ChildEnd{Step: c.Step, Child: c.Child, Outcome: workflow.OutcomeCancelled, Error: workflow.Errorf("cancelled", workflow.CategoryWorkflow, "")}
	case workflow.AwaitEvent:
		return workflow.ExternalEvent{EarlyEvent: workflow.EarlyEvent{ID: d.id(), Kind: c.Patterns[0].Kind, Key: c.Patterns[0].Key, From: "bus",
			Number: c.After[0] + 1, KindNumber: c.After[0] + 1, ReceivedAt: d.now}}
	case workflow.AwaitTask:
		verdict := workflow.VerdictApprove
		if !calm {
			verdict = rapid.SampledFrom([]workflow.Verdict{workflow.VerdictApprove, workflow.VerdictReject, workflow.VerdictReassign}).Draw(d.T, "verdict")
		}
		return workflow.TaskDecision{ID: d.id(), Step: c.Step, By: "user:a", Verdict: verdict, To: []string{"user:b"}}
	case workflow.AwaitCallback:
		return d.work(workflow.RunActivity{AttemptRef: c.AttemptRef, Running: true}, calm)
	case workflow.AwaitOperator:
		return d.operate(c, calm)
	}
	return workflow.Continue{}
}

// endChild is the end of a child; a shard reports how many items it ran, and how many failed.
func (d *driver) endChild(c workflow.StartChild, calm bool) workflow.Input {
	end := workflow.ChildEnd{Step: c.Step, Child: c.Child, Outcome: workflow.OutcomeCompleted, Output: workflow.Inline(workflow.Value("1"))}
	if c.Shard != nil {
		end.Count, end.Undoable = c.Shard.Count, d.one(2, "undoable")
	}
	if !calm && d.one(3, "child") {
		end = workflow.ChildEnd{Step: c.Step, Child: c.Child, Outcome: workflow.OutcomeFailed, Error: d.failure()}
		if c.Shard != nil {
			end.Count, end.Failed = c.Shard.Count, 1+rapid.IntRange(0, 3).Draw(d.T, "failed")
		}
	}
	return end
}

func (d *driver) failure() *workflow.Error {
	return &workflow.Error{
		Code:     rapid.SampledFrom([]string{"broken", "http.503", "worst"}).Draw(d.T, "code"),
		Category: rapid.SampledFrom([]workflow.Category{workflow.CategoryActivity, workflow.CategoryExternal, workflow.CategoryInfrastructure}).Draw(d.T, "category"), Retryable: true,
	}
}

// work is what becomes of an attempt.
func (d *driver) work(c workflow.RunActivity, calm bool) workflow.Input {
	how := rapid.IntRange(0, 9).Draw(d.T, "work")
	if calm {
		how = 9
	}
	result := workflow.ActivityResult{AttemptRef: c.AttemptRef, Worker: "w1", StartedAt: d.now}
	switch how {
	case 0, 1:
		result.Error = d.failure()
		return result
	case 2:
		d.now = max(d.now, c.LeaseUntil)
		return workflow.LeaseExpiry{AttemptRef: c.AttemptRef, Worker: "w1", StartedAt: d.now}
	case 3:
		return workflow.Begin{AttemptRef: c.AttemptRef, Worker: "w1", LeaseUntil: d.now + lease}
	case 4:
		return workflow.Claimed{AttemptRef: c.AttemptRef, Worker: "w3", StartedAt: d.now, LeaseUntil: d.now + lease}
	case 5:
		if !c.Running {
			return workflow.RevokedFound{AttemptRef: c.AttemptRef}
		}
	case 6:
		if c.Callback {
			result.Pending = true
			return result
		}
	case 7, 8:
		if c.Kind == workflow.KindAI {
			result.Continue = &workflow.AgentContinue{State: workflow.Inline(workflow.Value("{}")), Calls: []workflow.AgentCall{{ID: "c1", Kind: workflow.KindTool, Name: "search"}}}
			if d.one(2, "second") {
				result.Continue.Calls = append(result.Continue.Calls, workflow.AgentCall{ID: "c2", Kind: workflow.KindTool, Name: "refund", Approve: []string{"role:lead"}})
			}
			return result
		}
	}
	result.Output = workflow.Inline(workflow.Value(`{"ok":true}`))
	return result
}

func (d *driver) operate(c workflow.AwaitOperator, calm bool) workflow.Input {
	in := workflow.OperatorMove{ID: d.id(), Step: c.Step, By: "ops", Move: workflow.MoveSkip}
	if !calm {
		in.Move = rapid.SampledFrom([]workflow.Move{workflow.MoveRetry, workflow.MoveComplete, workflow.MoveSkip, workflow.MoveFail, workflow.MoveResume}).Draw(d.T, "move")
	}
	if c.Step == "" || in.Move == workflow.MoveResume {
		in.Move, in.Step = workflow.MoveResume, ""
	}
	return in
}

// noise is something that fits nothing, or no longer.
func (d *driver) noise() workflow.Input {
	ref := workflow.AttemptRef{Step: rapid.SampledFrom([]string{"s0", "s1", "s0/0/s1", "nothing", "s0!undo", "s1/2", ""}).Draw(d.T, "step"),
		Attempt: rapid.IntRange(0, 3).Draw(d.T, "attempt"), Fence: rapid.IntRange(-1, 0).Draw(d.T, "fence")}
	return rapid.SampledFrom([]workflow.Input{
		workflow.ActivityResult{AttemptRef: ref}, workflow.Begin{AttemptRef: ref}, workflow.Claimed{AttemptRef: ref}, workflow.RevokedFound{AttemptRef: ref},
		workflow.LeaseExpiry{AttemptRef: ref}, workflow.Tick{}, workflow.Continue{},
		workflow.ExternalEvent{EarlyEvent: workflow.EarlyEvent{ID: d.id(), Kind: "Go", ReceivedAt: d.now}},
		workflow.TaskDecision{ID: d.id(), Step: ref.Step, Verdict: workflow.VerdictApprove}, workflow.ChildBegun{Step: ref.Step, Child: "c"},
		workflow.ChildEnd{Step: ref.Step, Child: "c", Outcome: workflow.OutcomeCompleted}, workflow.OperatorMove{ID: d.id(), Move: workflow.MoveRetry, Step: ref.Step},
		workflow.Start{Execution: "ex", Tenant: "acme", Workflow: "random"},
	}).Draw(d.T, "noise")
}

// checkHistory holds a whole history to what must be true of any.
func checkHistory(t require.TestingT, x *execution) {
	ends := map[string]int{}
	var completed, undone []string
	rank := takenOrder(x)
	shards, requested := map[string]int{}, map[string]bool{} // undone one by one, under the same name
	for _, r := range x.events {
		switch e := r.Event.(type) {
		case workflow.ChildRequested:
			if e.Undo != "" && !requested[e.Undo] {
				requested[e.Undo] = true
				shards[e.Step]++
			}
		case workflow.ActivityCompleted:
			ends[e.Step]++
			if undo, ok := strings.CutSuffix(e.Step, "!undo"); ok {
				undone = append(undone, undo)
			} else {
				completed = append(completed, e.Step)
			}
		case workflow.ActivityCaught:
			ends[e.Step]++
			completed = append(completed, e.Step)
		case workflow.ActivitySkipped:
			ends[e.Step]++
			completed = append(completed, e.Step) // cancelled while it was held
		case workflow.ActivityFailed:
			if e.Status.Ended() {
				ends[e.Step]++
				completed = append(completed, e.Step) // one that can be undone if it was attempted
			}
		}
	}
	for step, n := range ends {
		if strings.Contains(step, "!notify") {
			continue // there is one for each reminder
		}
		require.Equal(t, max(shards[step], 1), n, "step %s came to its end %d times", step, n)
	}
	requireReverse(t, rank, completed, slices.Compact(undone))
}

// takenOrder ranks what was taken over by when it ended in the other execution: below all that ends here.
func takenOrder(x *execution) map[string]int {
	rank := map[string]int{}
	created := x.events[0].Event.(workflow.WorkflowCreated)
	if r := created.Origin.Redrive; r != nil {
		for _, k := range r.Taken {
			rank[k.Step] = int(k.Order) - 1<<30
		}
	}
	return rank
}

// requireReverse: what was undone ended before, and was undone in the reverse order of the ends.
func requireReverse(t require.TestingT, rank map[string]int, ended, undone []string) {
	for i, step := range ended {
		if rank[step] == 0 {
			rank[step] = i + 1
		}
	}
	for i, step := range undone {
		require.NotZero(t, rank[step], "%s was undone and never ended", step)
		if i > 0 {
			require.Less(t, rank[step], rank[undone[i-1]], "%s ended before %s and was undone after it", undone[i-1], step)
		}
	}
}
