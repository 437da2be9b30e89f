package aws

import (
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// sent is a message as SQS says who sent it.
func sent(m events.SQSMessage, sender string) events.SQSMessage {
	m.Attributes["SenderId"] = sender
	return m
}

// TestClassesMayOnlyAnswer: what the code of a worker class puts into the inbox reaches an execution only if it is an answer for an attempt (commit
// protocol, point 15); what the engine and people put there is taken as it is.
func TestClassesMayOnlyAnswer(t *testing.T) {
	r := newRig(t)
	r.config.Senders = map[string]string{"AROACLASS": "inventory"}
	r.wire.set(answerHides)
	r.deploy("dsl: wovyr/v1\nname: wait\nsteps: { ask: { human: { title: Well? } } }\n")
	ref := workflow.AttemptRef{Step: "ask", Attempt: 1, Fence: 1}
	for name, test := range map[string]struct {
		in      workflow.Input
		answers bool
	}{
		"a result":           {workflow.ActivityResult{AttemptRef: ref}, true},
		"a lease that ended": {workflow.LeaseExpiry{AttemptRef: ref}, true},
		"a claim taken away": {workflow.RevokedFound{AttemptRef: ref}, true},
		"a cancel":           {workflow.Cancel{ID: "c", Origin: workflow.OriginUser, Mode: workflow.CancelImmediate}, false},
		"an approval":        {workflow.TaskDecision{ID: "d", Step: "ask", Verdict: workflow.VerdictApprove}, false},
		"a start":            {workflow.Start{}, false},
		"a tick":             {workflow.Tick{}, false},
		"a nudge":            {nil, false},
	} {
		for sender, class := range map[string]bool{"AROACLASS:shop-ClassInventory": true, "AROAENGINE:shop-Api": false, "": false} {
			t.Run(name+" by "+sender, func(t *testing.T) {
				err := r.config.maySend(sent(r.message("x", "m", workflow.Tick{}, 1), sender), test.in)
				if !class || test.answers {
					require.NoError(t, err)
					return
				}
				var foreign *senderError
				require.ErrorAs(t, err, &foreign)
				require.Equal(t, "inventory", foreign.Class)
			})
		}
	}

	x := r.start("wait", "{}")
	cancel := workflow.Cancel{ID: "c", Origin: workflow.OriginUser, Mode: workflow.CancelImmediate}
	answer, err := r.Orchestrator(t.Context(), batchOf(sent(r.message(x, "m", cancel, 1), "AROACLASS:shop-ClassInventory")))
	require.NoError(t, err)
	require.Empty(t, answer.BatchItemFailures)
	require.NotEqual(t, "Cancelled", r.status(x))
	letters, _, err := r.Store.DeadLetters(t.Context(), testTenant, eventstore.Page{})
	require.NoError(t, err)
	require.Len(t, letters, 1)
	require.Contains(t, letters[0].Cause, `worker class "inventory" sent an input of type Cancel`)
	_, err = r.Orchestrator(t.Context(), batchOf(sent(r.message(x, "m", cancel, 1), "AROAENGINE:shop-Api")))
	require.NoError(t, err)
	require.Equal(t, "Cancelled", r.status(x))
}
