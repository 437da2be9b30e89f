package aws

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/memory"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

var add = flag.Bool("add", false, "write bodies that testdata/bodies.json does not have yet")

// inQueues are messages of every kind as they may lie in the queues while a deployment is updated.
var inQueues = func() map[string]any {
	s := eventstore.Stream{Tenant: "acme/eu", ID: "order-1/pay/1"}
	ref := workflow.AttemptRef{Step: "all/3/pay", Attempt: 2, Fence: 3}
	value := workflow.Payload{JSON: workflow.Value(`{"n":1,"x":null}`), Holes: []workflow.Hole{{At: "/x", Ref: &workflow.Ref{Hash: strings.Repeat("ab", 32), Size: 70000, Path: []string{"p"}}}}}
	failed := &workflow.Error{Code: "card.declined", Category: workflow.CategoryActivity, Message: "no", Retryable: true, Details: workflow.Value(`{"a":1}`)}
	start := workflow.Start{Execution: s.ID, Tenant: s.Tenant, Workflow: "order", Definition: "7", Hash: "cafe", Correlation: "c", Key: "k", By: "ann", Labels: []workflow.Label{{Key: "l", Value: "v"}}, Input: value,
		Origin: workflow.Origin{Parent: &workflow.Parent{Execution: "order-1", Step: "pay"}}}
	idempotent := false
	out := map[string]any{"timer": alarm{Tenant: s.Tenant, Execution: s.ID, At: 1893553445000000006}}
	for name, in := range map[string]workflow.Input{ // order-free: a map again
		"hint": nil, "start": start, "result": workflow.ActivityResult{AttemptRef: ref, Worker: "aws/1", StartedAt: 5, Output: value}, "failure": workflow.ActivityResult{AttemptRef: ref, Error: failed, RetryAfter: 9},
		"pending": workflow.ActivityResult{AttemptRef: ref, Pending: true}, "claimed": workflow.Claimed{AttemptRef: ref, Worker: "aws/1", StartedAt: 5, LeaseUntil: 6},
		"revoked": workflow.RevokedFound{AttemptRef: ref}, "expiry": workflow.LeaseExpiry{AttemptRef: ref, Worker: "aws/1", StartedAt: 5, Gone: true}, "tick": workflow.Tick{},
		"event":    workflow.ExternalEvent{EarlyEvent: workflow.EarlyEvent{ID: "e", Kind: "Paid", Key: "7", Data: value}, By: "ann"},
		"decision": workflow.TaskDecision{ID: "d", Step: "ask", By: "ann", Verdict: "approve", Answer: value, Comment: "fine"},
		"begun":    workflow.ChildBegun{Step: "pay", Child: "order-1/pay/1"}, "end": workflow.ChildEnd{Step: "pay", Child: "order-1/pay/1", Outcome: workflow.OutcomeCompleted, Output: value},
		"cancel": workflow.Cancel{ID: "c", Origin: workflow.OriginUser, Mode: workflow.CancelGraceful, Reason: "r", By: "ann"}, "cancel of a child": workflow.Cancel{Origin: workflow.OriginParent, Mode: workflow.CancelImmediate, Start: &start},
		"move": workflow.OperatorMove{ID: "m", Move: "complete", Step: "pay", By: "ann", Output: value}, "continue": workflow.Continue{},
	} {
		out["message: "+name] = worker.Message{ID: "id-" + strings.ReplaceAll(name, " ", "-"), Stream: s, Floor: 12, Input: in}
	}
	out["message: large"] = worker.Message{ID: "id-large", Stream: s, Input: workflow.ActivityResult{AttemptRef: ref, Output: workflow.Inline(workflow.Value(`"` + strings.Repeat("y", 1<<18) + `"`))}}
	task := worker.Task{ID: "t", Stream: s, Floor: 12, AttemptRef: ref, Class: "gpu-large"}
	out["task: by its name"] = task
	task.Command = &workflow.RunActivity{AttemptRef: ref, Workflow: "order", Correlation: "c", Kind: workflow.KindFunction, Name: "pay", Key: "k", Timeout: 5e9, Heartbeat: 1e9, Input: value, Target: workflow.Inline(workflow.Value(`{"arn":"a"}`)),
		By: "t", Idempotent: &idempotent}
	out["task: whole"] = task
	return out
}()

// TestBodiesOfOlderPrograms reads what each program so far has put into queues and into entries of the Scheduler: an update never breaks what waits there.
// A body that today's program would write otherwise fails too: keep the old one under a name of its own, and add the new one with -add.
func TestBodiesOfOlderPrograms(t *testing.T) {
	const file = "testdata/bodies.json"
	kept := map[string]string{}
	if text, err := os.ReadFile(file); err == nil {
		require.NoError(t, json.Unmarshal(text, &kept))
	}
	b := bodies{memory.NewPayloads(0)}
	written := map[string]string{}
	for name, v := range inQueues {
		var err error
		switch v := v.(type) {
		case worker.Message:
			written[name], err = b.ofMessage(t.Context(), v)
		case worker.Task:
			written[name], err = b.ofTask(t.Context(), v, nil)
		case alarm:
			written[name], err = v.body()
		}
		require.NoError(t, err, name)
		if _, known := kept[name]; !known && *add {
			kept[name] = written[name]
		}
	}
	if *add {
		text, err := json.MarshalIndent(kept, "", " ")
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, append(text, '\n'), 0o644))
	}
	for name, want := range inQueues {
		require.Contains(t, kept, name)
		require.Equal(t, kept[name], written[name], name)
		var got any
		var err error
		switch want.(type) {
		case worker.Message:
			got, err = b.message(t.Context(), kept[name])
		case worker.Task:
			got, _, err = b.task(t.Context(), kept[name])
		case alarm:
			got, err = parseAlarm(kept[name])
		}
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
	require.Len(t, inQueues, len(kept), "what is no longer written is still read: keep its case")
}
