package aws

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/memory"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// anyText draws names of any characters, as stores take them.
func anyText(t *rapid.T, name string) string {
	return rapid.StringN(1, 40, eventstore.MaxTenant).Draw(t, name)
}

func TestMessagesSurviveTheQueue(t *testing.T) {
	b := bodies{memory.NewPayloads(0)}
	rapid.Check(t, func(t *rapid.T) {
		m := worker.Message{ID: anyText(t, "id"), Stream: eventstore.Stream{Tenant: anyText(t, "tenant"), ID: anyText(t, "execution")}, Floor: rapid.Uint64Max(eventstore.MaxSequence).Draw(t, "floor")}
		m.Input = rapid.SampledFrom([]workflow.Input{
			nil, workflow.Tick{}, workflow.Continue{},
			workflow.Cancel{ID: "c", Origin: "user", Mode: "graceful", Reason: anyText(t, "reason")},
			workflow.ActivityResult{AttemptRef: workflow.AttemptRef{Step: "a/1", Attempt: 2, Fence: 3}, Output: workflow.Inline(workflow.Value(`{"a":[1,2.5,"x"]}`))},
			workflow.ActivityResult{AttemptRef: workflow.AttemptRef{Step: "b", Attempt: 1}, Output: workflow.Inline(workflow.Value(`"` + strings.Repeat("y", stack.MaxMessage) + `"`))},
			workflow.ActivityResult{AttemptRef: workflow.AttemptRef{Step: "b", Attempt: 1}, Output: workflow.Inline(workflow.Value(`"` + strings.Repeat("<", stack.MaxMessage-5000) + `"`))},
			workflow.ActivityResult{AttemptRef: workflow.AttemptRef{Step: "b", Attempt: 1}, Output: workflow.Inline(workflow.Value("\"\uffff\ufffe" + strings.Repeat("\uffff", 60000) + "\""))},
		}).Draw(t, "input")
		body, err := b.ofMessage(context.Background(), m)
		require.NoError(t, err)
		require.LessOrEqual(t, len(body), maxBatchBytes-entryBytes)
		require.NotContains(t, body, "\ufffe")
		require.NotContains(t, body, "\uffff")
		got, err := b.message(context.Background(), body)
		require.NoError(t, err)
		require.Equal(t, m, got)
	})
}

func TestTasksSurviveTheQueue(t *testing.T) {
	idempotent := true
	for name, cmd := range map[string]*workflow.RunActivity{
		"none": nil,
		"plain": {AttemptRef: workflow.AttemptRef{Step: "a", Attempt: 1}, Kind: workflow.KindFunction, Name: "f", Key: "k", Timeout: 5, Input: workflow.Inline(workflow.Value(`{"n":1e400}`)),
			Idempotent: &idempotent},
		"with holes": {AttemptRef: workflow.AttemptRef{Step: "a", Attempt: 1}, Kind: workflow.KindHTTP, Input: workflow.Payload{JSON: workflow.Value(`{"x":null,"s":null}`), Holes: []workflow.Hole{
			{At: "/x", Ref: &workflow.Ref{Hash: strings.Repeat("a", 64), Size: 9, Path: []string{"p"}}}, {At: "/s", Deferred: &workflow.Deferred{Expr: "secrets.k"}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			task := worker.Task{ID: "1", Stream: eventstore.Stream{Tenant: "t", ID: "x"}, Floor: 7, AttemptRef: workflow.AttemptRef{Step: "a", Attempt: 1}, Class: "default", Command: cmd}
			for _, answer := range []*callback{nil, {"https://x/callbacks/t", "t"}} {
				body, err := bodies{}.ofTask(t.Context(), task, answer)
				require.NoError(t, err)
				got, came, err := bodies{}.task(t.Context(), body)
				require.NoError(t, err)
				require.Equal(t, task, got)
				require.Equal(t, answer, came)
			}
		})
	}
	large := worker.Task{ID: "1", Stream: eventstore.Stream{Tenant: "t", ID: "x"}, Class: "default",
		Command: &workflow.RunActivity{Input: workflow.Inline(workflow.Value(`"` + strings.Repeat("y", stack.MaxMessage) + `"`))}}
	t.Run("too large: without the command", func(t *testing.T) {
		body, err := bodies{}.ofTask(t.Context(), large, nil)
		require.NoError(t, err)
		got, _, err := bodies{}.task(t.Context(), body)
		require.NoError(t, err)
		require.Nil(t, got.Command)
	})
	t.Run("too large, for a class that may not read the history: by reference", func(t *testing.T) {
		b, task := bodies{memory.NewPayloads(0)}, large
		task.Class = "inventory"
		body, err := b.ofTask(t.Context(), task, nil)
		require.NoError(t, err)
		require.Less(t, len(body), 1000)
		got, _, err := b.task(t.Context(), body)
		require.NoError(t, err)
		require.Equal(t, task, got)
	})
}

func TestBodiesOfOthersAreRefused(t *testing.T) {
	b := bodies{memory.NewPayloads(0)}
	for _, body := range []string{"", "x", "[]", "{}", `{"id":"1","tenant":"","execution":"x"}`, `{"id":"1","tenant":"t","execution":"x","large":"nonsense"}`, `"` + strings.Repeat("x", 300) + `"`} {
		var wrong *BodyError
		_, err := b.message(context.Background(), body)
		require.ErrorAs(t, err, &wrong, body)
		if !strings.Contains(body, "large") {
			_, err = parseAlarm(body)
			require.ErrorAs(t, err, &wrong, body)
			_, _, err = b.task(t.Context(), body)
			require.ErrorAs(t, err, &wrong, body)
		}
	}
}

func TestDeduplicationIDsFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		require.Regexp(t, `^[!-~]{1,128}$`, deduplicationID(a))
		require.Equal(t, a == b, deduplicationID(a) == deduplicationID(b))
	})
}
