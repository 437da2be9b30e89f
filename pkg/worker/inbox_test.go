package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
	"github.com/wovyr/wovyr/pkg/workflow/codec"
)

const waitsTwice = `
name: waits
steps:
  w: { event: { type: Go } }
  v: { needs: [ w ], event: { type: Again } }
  a: { needs: [ v ], function: std.echo, with: { n: 1 } }`

func signal(id, kind string) workflow.ExternalEvent {
	return workflow.ExternalEvent{EarlyEvent: workflow.EarlyEvent{ID: id, Kind: kind}}
}

func messages(s eventstore.Stream, inputs ...workflow.Input) []Message {
	var out []Message
	for i, in := range inputs {
		out = append(out, Message{ID: fmt.Sprintf("m%d", i), Stream: s, Input: in})
	}
	return out
}

func allDone(n int) []Answer {
	out := make([]Answer, n)
	for i := range out {
		out[i] = done()
	}
	return out
}

// TestABatchIsOneCommit: what came together is decided together, and a batch that comes again decides nothing (commit protocol, point 5).
func TestABatchIsOneCommit(t *testing.T) {
	r := newRig(t)
	s := r.begin(r.define(waitsTwice), `{}`)
	r.takeMessages() // hints to look for events
	before := len(r.commits(s))
	list := messages(s, signal("1", "Go"), workflow.Tick{}, signal("2", "Again"), signal("1", "Go"), nil)
	require.Equal(t, allDone(5), r.HandleInbox(t.Context(), s, list))
	require.Len(t, r.commits(s), before+1)
	history, err := r.History(t.Context(), s, 0, eventstore.MaxPage)
	require.NoError(t, err)
	require.Equal(t, []string{"m0", "m1", "m2", "m3", "m4"}, history[len(history)-1].Causes)
	require.Len(t, r.takeTasks(), 1)

	for i := range list {
		list[i].Again = true
	}
	require.Equal(t, allDone(5), r.HandleInbox(t.Context(), s, list))
	require.Len(t, r.commits(s), before+1)
	require.Len(t, r.takeTasks(), 1, "what the batch had asked for is sent again: whoever died may not have sent it")
}

// TestPermanentRejects: what can never be right goes to the dead letters with its cause, and holds up nothing (WF-001 §12, commit protocol, point 5).
func TestPermanentRejects(t *testing.T) {
	r := newRig(t)
	s := r.begin(r.define(waitsTwice), `{}`)
	decision := workflow.TaskDecision{ID: "d", Step: "nobody", Verdict: workflow.VerdictApprove, By: "ann"}
	list := messages(s, decision, signal("1", "Go"))
	require.Equal(t, allDone(2), r.HandleInbox(t.Context(), s, list))
	letters := r.letters()
	require.Len(t, letters, 1)
	l := letters[0]
	require.Equal(t, []any{"refused.TaskDecision", "inbox", s.ID, "m0", epoch}, []any{l.Code, l.Queue, l.Execution, l.ID, l.At})
	require.Contains(t, l.Cause, "nobody")
	body, err := codec.DecodeInput(l.Body)
	require.NoError(t, err)
	require.Equal(t, decision, body, "the letter holds what was sent")
	require.Equal(t, 1, r.count(s, "SignalReceived")+r.count(s, "EventReceived"), r.events(s))

	// Redelivered, because the acknowledgement was lost: still one letter.
	list[0].Again, list[1].Again = true, true
	require.Equal(t, allDone(2), r.HandleInbox(t.Context(), s, list))
	require.Len(t, r.letters(), 1)
}

// TestALetterThatCannotBeWritten: the message comes back, and so do those behind it.
func TestALetterThatCannotBeWritten(t *testing.T) {
	r := newRig(t)
	s := r.begin(r.define(waitsTwice), `{}`)
	list := messages(s, workflow.OperatorMove{ID: "o", Move: workflow.MoveSkip, Step: "nobody"}, signal("1", "Go"))
	r.failing("letters", 1)
	for _, a := range r.HandleInbox(t.Context(), s, list) {
		require.False(t, a.Done)
		require.ErrorIs(t, a.Err, eventstore.ErrUnavailable)
		require.Equal(t, r.Limits.Retry, a.After)
	}
	require.Equal(t, allDone(2), r.HandleInbox(t.Context(), s, list))
	require.Len(t, r.letters(), 1)
}

// TestMessagesToNobody: of those to an execution that is not there, what people sent becomes a dead letter; what the engine sends itself is nothing
// to worry about.
func TestMessagesToNobody(t *testing.T) {
	r := newRig(t)
	name := r.define(oneStep)
	ref := workflow.AttemptRef{Step: "a", Attempt: 1, Fence: 1}
	quiet := []workflow.Input{nil, workflow.Tick{}, workflow.Continue{}, workflow.LeaseExpiry{AttemptRef: ref}, workflow.RevokedFound{AttemptRef: ref},
		workflow.ChildEnd{Step: "s", Child: "child", Outcome: workflow.OutcomeCompleted}}
	require.Equal(t, allDone(len(quiet)), r.HandleInbox(t.Context(), stream("nobody"), messages(stream("nobody"), quiet...)))
	require.Empty(t, r.letters())
	heard, err := r.store.Acknowledged(t.Context(), stream("child"), noticeParent)
	require.NoError(t, err)
	require.True(t, heard, "a child whose parent is gone owes no notice any more")

	loud := []workflow.Input{signal("1", "Go"), workflow.TaskDecision{ID: "d", Step: "s"}, workflow.Cancel{ID: "c"}, workflow.ActivityResult{AttemptRef: ref}}
	require.Equal(t, allDone(len(loud)), r.HandleInbox(t.Context(), stream("nobody"), messages(stream("nobody"), loud...)))
	require.Len(t, r.letters(), len(loud))
	require.Empty(t, r.commits(stream("nobody")))

	// The cancel of a child that is not there yet is its first commit; its start finds the ID taken (commit protocol, point 13).
	d, err := r.Programs.Resolve(t.Context(), tenant, name, "", "")
	require.NoError(t, err)
	start := workflow.Start{Execution: "kid", Tenant: tenant, Workflow: name, Definition: "1", Hash: d.Hash.String(), Input: workflow.Inline(workflow.Value("{}"))}
	cancel := workflow.Cancel{ID: "c", Origin: workflow.OriginParent, Mode: workflow.CancelImmediate, Start: &start}
	require.Equal(t, allDone(2), r.HandleInbox(t.Context(), stream("kid"), messages(stream("kid"), cancel, start)))
	r.ended(stream("kid"), "cancelled")
	require.Empty(t, r.takeTasks())
}

// TestTransientFailures: while the store is away, nothing is decided, nothing is lost and nobody is blamed: messages and tasks come back.
func TestTransientFailures(t *testing.T) {
	for _, port := range []string{"append", "tasks", "tail"} {
		t.Run(port, func(t *testing.T) {
			f, calls := counting("f")
			r := newRig(t, f)
			s := r.begin(r.define("name: w\nsteps:\n  w: { event: { type: Go } }\n  a: { needs: [ w ], function: f }"), `{}`)
			r.takeMessages()
			r.Worker = r.another("w2") // with nothing in memory
			r.failing(port, 2)
			m := messages(s, signal("1", "Go"))
			for try := range 10 {
				a := r.HandleInbox(t.Context(), s, m)[0]
				if a.Done {
					require.Equal(t, 2, try)
					break
				}
				require.True(t, Passing(a.Err), "%v", a.Err)
				require.Positive(t, a.After)
				m[0].Again = true
			}
			r.settle()
			r.ended(s, "completed")
			require.Empty(t, r.letters())
			require.Equal(t, 1, calls())
		})
	}
}

// TestAWriteWithoutAnswer: the worker that cannot learn what became of its write decides nothing anew; whoever has the message next finds the commit and
// sends what it asked for (commit protocol, points 1 and 4).
func TestAWriteWithoutAnswer(t *testing.T) {
	r := newRig(t)
	s := r.begin(r.define("name: w\nsteps:\n  w: { event: { type: Go } }\n  a: { needs: [ w ], function: std.echo, with: { n: 1 } }"), `{}`)
	r.takeMessages()
	unknown := &eventstore.UnknownOutcomeError{Op: "append", Err: errAway}
	r.fault = func(port string) error {
		if port == "append" {
			return unknown
		}
		return nil
	}
	m := messages(s, signal("1", "Go"))
	a := r.HandleInbox(t.Context(), s, m)[0]
	require.False(t, a.Done)
	require.ErrorIs(t, a.Err, eventstore.ErrUnknownOutcome)
	require.True(t, Passing(a.Err))
	r.fault = nil
	m[0].Again = true
	for _, w := range []*Worker{r.Worker, r.another("w2")} {
		require.Equal(t, allDone(1), w.HandleInbox(t.Context(), s, m))
		require.NotEmpty(t, r.takeTasks(), "each who had the message sends it: nobody knows whether the other did")
	}
	require.Equal(t, 2, r.count(s, "ActivityScheduled"), "that of the wait and that of the step behind it")
}

// TestNewerCode: a history that newer code has written to is no fault of the message: it waits for a worker that can read it.
func TestNewerCode(t *testing.T) {
	r := newRig(t)
	s := r.begin(r.define(waitsTwice), `{}`)
	r.takeMessages()
	r.store.Rewrite(s, func(list []eventstore.Commit) []eventstore.Commit {
		last := list[len(list)-1]
		next := eventstore.Commit{First: last.Last + 1, Last: last.Last + 1, Checkpoint: last.Checkpoint, Nonce: eventstore.Nonce{9}, Prev: last.Hash(s), Data: newerBatch(t)}
		return append(list, next)
	})
	r.Worker = r.another("w2")
	a := r.HandleInbox(t.Context(), s, messages(s, signal("1", "Go"), signal("2", "Again")))
	for _, a := range a {
		require.False(t, a.Done)
		require.True(t, Passing(a.Err), "%v", a.Err)
	}
	var newer *codec.NewerError
	require.ErrorAs(t, a[0].Err, &newer)
	require.Empty(t, r.letters())
	task := Task{ID: "t", Stream: s, AttemptRef: workflow.AttemptRef{Step: "a", Attempt: 1, Fence: 1}, Class: DefaultClass}
	answer := r.HandleTask(t.Context(), r.received(task))
	require.False(t, answer.Done)
	require.True(t, Passing(answer.Err))
}

// TestPanicsComeBack: a fault of the engine's own holds up its execution only, and in the end is a dead letter with its cause.
func TestPanicsComeBack(t *testing.T) {
	r := newRig(t)
	s := r.begin(r.define(waitsTwice), `{}`)
	r.fault = func(port string) error {
		if port == "append" {
			panic("a fault of ours")
		}
		return nil
	}
	m := messages(s, signal("1", "Go"))
	a := r.HandleInbox(t.Context(), s, m)[0]
	var panicked *PanicError
	require.ErrorAs(t, a.Err, &panicked)
	require.Contains(t, panicked.Stack, "HandleInbox")
	require.False(t, Passing(a.Err), "it counts against the message")
	r.fault = nil
	require.NoError(t, r.BuryMessage(context.Background(), m[0], a.Err))
	require.Equal(t, "failing.ExternalEvent", r.letters()[0].Code)
	require.Contains(t, r.letters()[0].Cause, "a fault of ours")
	require.Equal(t, allDone(1), r.HandleInbox(t.Context(), s, messages(s, signal("2", "Go"))))
}

// TestBuriedTasks: the attempt stays open, for the sweep.
func TestBuriedTasks(t *testing.T) {
	r := newRig(t)
	s := r.begin(r.define(oneStep), `1`)
	task := r.takeTasks()[0]
	require.NoError(t, r.BuryTask(t.Context(), task, errors.New("its worker cannot")))
	l := r.letters()[0]
	require.Equal(t, []string{"failing.Task", "tasks/default", s.ID, "a attempt 1 fence 1", "its worker cannot"}, []string{l.Code, l.Queue, l.Execution, string(l.Body), l.Cause})
	r.pass(r.Limits.Dispatch + r.Limits.Lease)
	swept := r.sweep()
	require.Equal(t, 1, swept.Repaired)
	r.settle()
	r.ended(s, "completed")
}

// newerBatch is a commit's data with an event that this code does not know.
func newerBatch(t *testing.T) []byte {
	data, err := codec.JSON{}.Encode(&codec.Batch{At: epoch, Workflow: "waits", Worker: "w9", Events: []workflow.Event{workflow.WorkflowStarted{}}})
	require.NoError(t, err)
	return bytes.Replace(data, []byte("WorkflowStarted"), []byte("WorkflowDreamt"), 1)
}
