package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// TestEveryInputInEveryState hands inputs of every type to every other state of many stories, the last included: late ones, early ones, with old and
// future fences, for steps that are open, over, or never were. Whatever comes of it keeps the laws, and the same input a second
// time changes nothing; what has ended stays as it is.
func TestEveryInputInEveryState(t *testing.T) {
	types := map[string]int{}
	for _, story := range toRecord {
		t.Run(story, func(t *testing.T) {
			s, err := readScript("testdata/scenarios/" + story + ".txt")
			require.NoError(t, err)
			_, w := tell(t, s)
			for _, x := range w.executions {
				for i := len(x.commits) - 1; i >= 0; i -= 2 {
					everyInput(t, x, i, types)
				}
			}
		})
	}
	for _, in := range []workflow.Input{
		workflow.Start{}, workflow.ActivityResult{}, workflow.Begin{}, workflow.Claimed{}, workflow.RevokedFound{}, workflow.LeaseExpiry{}, workflow.Tick{},
		workflow.ExternalEvent{}, workflow.TaskDecision{}, workflow.ChildBegun{}, workflow.ChildEnd{}, workflow.Cancel{}, workflow.OperatorMove{}, workflow.Continue{},
	} {
		require.Greater(t, types[in.InputType()], 100, "%s was hardly tried", in.InputType())
	}
}

func everyInput(t *testing.T, x *execution, commit int, types map[string]int) {
	at := x.events[len(x.events)-1].At
	for n, in := range inputsFor(x, commit) {
		then := x.back(t, commit)
		ended := then.state.Status.Terminal()
		d, _, err := then.decide(engine.Env{Now: at + int64(n%3)*3_600_000_000_000, Worker: "w1", By: "late"}, in)
		require.NoError(t, err, "commit %d: %s", commit, showNoun(in.InputType(), in))
		if ended {
			require.Empty(t, d.Events, "%s changed what had ended", in.InputType())
		}
		types[in.InputType()]++
	}
}

// back is the execution as it was after one of its commits.
func (x *execution) back(t *testing.T, commit int) *execution {
	s, err := decodeState(x.checkpoints[commit])
	require.NoError(t, err)
	last := len(x.events)
	if commit+1 < len(x.first) {
		last = int(x.first[commit+1]) - 1
	}
	then := *x
	then.state, then.events = s, slices.Clip(x.events[:last])
	then.commits, then.checkpoints, then.first = slices.Clip(x.commits[:commit+1]), slices.Clip(x.checkpoints[:commit+1]), slices.Clip(x.first[:commit+1])
	then.attempts = map[string]workflow.AttemptRef{}
	return &then
}

// inputsFor are inputs of every type for the steps that the whole story knows, and for one that it does not.
func inputsFor(x *execution, commit int) []workflow.Input {
	refs := []workflow.AttemptRef{{Step: "nobody", Attempt: 1, Fence: 1}, {Step: "", Attempt: 0, Fence: 0}, {Step: "a/b/c!undo", Attempt: 1, Fence: 1}}
	paths := make([]string, 0, len(x.attempts))
	for path := range x.attempts {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for i, path := range paths {
		if (i+commit)%max(len(paths)/3, 1) == 0 { // a few of them, others in the next state
			ref := x.attempts[path]
			older, newer := ref, ref
			older.Fence--
			newer.Fence++
			refs = append(refs, ref, older, newer)
		}
	}
	failure := &workflow.Error{Code: "late", Category: workflow.CategoryExternal, Retryable: true}
	list := []workflow.Input{
		workflow.Tick{}, workflow.Continue{}, workflow.Start{Execution: x.id, Tenant: "acme", Workflow: x.def.Name},
		workflow.Start{}, workflow.Cancel{ID: "late-1", Origin: workflow.OriginUser, Mode: workflow.CancelImmediate},
		workflow.Cancel{ID: "late-2", Origin: workflow.OriginPolicy, Mode: workflow.CancelGraceful},
		workflow.Cancel{ID: "late-3", Origin: workflow.OriginScheduler, Mode: workflow.CancelCompensated},
		workflow.Cancel{ID: "late-4", Origin: "nobody", Mode: "somehow"},
		workflow.OperatorMove{ID: "late-5", Move: workflow.MoveResume}, workflow.OperatorMove{ID: "late-6", Move: "dance", Step: "a"},
	}
	for i, ref := range refs {
		id := fmt.Sprintf("late-%d-%d", commit, i)
		list = append(list,
			workflow.ActivityResult{AttemptRef: ref, Output: workflow.Inline(workflow.Value("1")), StartedAt: storyStart},
			workflow.ActivityResult{AttemptRef: ref, Error: failure}, workflow.ActivityResult{AttemptRef: ref, Pending: true},
			workflow.ActivityResult{AttemptRef: ref, Continue: &workflow.AgentContinue{Calls: []workflow.AgentCall{{ID: "c", Kind: "tool", Name: "x"}}}},
			workflow.Begin{AttemptRef: ref, Worker: "w1", LeaseUntil: storyStart + lease}, workflow.Claimed{AttemptRef: ref, Worker: "w9", StartedAt: storyStart},
			workflow.RevokedFound{AttemptRef: ref}, workflow.LeaseExpiry{AttemptRef: ref, Worker: "w9", StartedAt: storyStart},
			workflow.ChildBegun{Step: ref.Step, Child: x.id + "/" + ref.Step + "/1"},
			workflow.ChildEnd{Step: ref.Step, Child: x.id + "/" + ref.Step + "/1", Outcome: workflow.OutcomeCompleted},
			workflow.ChildEnd{Step: ref.Step, Child: "stranger", Outcome: workflow.OutcomeFailed},
			workflow.TaskDecision{ID: id + "a", Step: ref.Step, Verdict: workflow.VerdictApprove, By: "user:x"},
			workflow.TaskDecision{ID: id + "b", Step: ref.Step, Verdict: "perhaps"},
			workflow.OperatorMove{ID: id + "c", Move: workflow.MoveRetry, Step: ref.Step}, workflow.OperatorMove{ID: id + "d", Move: workflow.MoveSkip, Step: ref.Step},
			workflow.ExternalEvent{EarlyEvent: workflow.EarlyEvent{ID: id + "e", Kind: strings.ToUpper(ref.Step), ReceivedAt: storyStart}},
			workflow.ExternalEvent{EarlyEvent: workflow.EarlyEvent{ID: id + "f", Kind: "Go", Key: "k", Number: uint64(i), KindNumber: uint64(i)}},
		)
	}
	return list
}
