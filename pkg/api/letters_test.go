package api_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/node"
	"github.com/wovyr/wovyr/pkg/project"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// TestDeadLetters makes some through the real worker, and does with them all that can be done.
func TestDeadLetters(t *testing.T) {
	n, err := node.Open(node.Options{Project: &project.Project{}, Data: t.TempDir()})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx, time.Minute) }()
	t.Cleanup(func() { stop(); require.NoError(t, <-ended) })
	c := &client.Client{Server: n.URL}
	const emits = "name: emits\nsteps: { p: { emit: { type: Ping, key: execution.id } } }\n"
	for _, d := range []string{waiting, emits} {
		_, err = c.Deploy(ctx, "test.yaml", []byte("dsl: wovyr/v1\n"+d))
		require.NoError(t, err)
	}
	refusal := func(err error, code string, status int) {
		t.Helper()
		var p *client.Problem
		require.ErrorAs(t, err, &p)
		require.Equal(t, code, p.Code)
		require.Equal(t, status, p.Status)
	}
	only := func() client.DeadLetter {
		t.Helper()
		page, err := c.DeadLetters(ctx, url.Values{"limit": {"10"}})
		require.NoError(t, err)
		require.Len(t, page.Items, 1)
		return page.Items[0]
	}
	none := func() {
		t.Helper()
		page, err := c.DeadLetters(ctx, nil)
		require.NoError(t, err)
		require.Empty(t, page.Items)
	}
	none()

	// An event that comes before its execution is refused; once the execution is there, it can be sent again.
	request := worker.StartRequest{Tenant: node.Tenant, Workflow: "waiting", Key: "k", Input: workflow.Value("{}")}
	stream := eventstore.Stream{Tenant: node.Tenant, ID: n.Worker.ExecutionID(request)}
	early := workflow.ExternalEvent{EarlyEvent: workflow.EarlyEvent{ID: "e", Kind: "Go", Data: workflow.Inline(workflow.Value(`{"n":1}`))}}
	require.NoError(t, n.Ask(ctx, stream, early))
	d := only()
	require.Equal(t, stream.ID, d.Execution)
	require.Equal(t, "refused.ExternalEvent", d.Code)
	require.Equal(t, "inbox", d.Queue)
	require.Empty(t, d.Message)
	d, err = c.DeadLetter(ctx, d.ID)
	require.NoError(t, err)
	require.Contains(t, string(d.Message), `"n":1`)
	refusal(c.RedriveLetter(ctx, d.ID, client.LetterMove{}), "refused", http.StatusConflict)
	require.Equal(t, d.ID, only().ID, "what is refused again stays")
	_, err = c.Start(ctx, client.StartRequest{Workflow: "waiting", Key: "k"})
	require.NoError(t, err)
	require.NoError(t, c.RedriveLetter(ctx, d.ID, client.LetterMove{By: "ann"}))
	none()
	e, err := c.Wait(ctx, stream.ID)
	require.NoError(t, err)
	require.Equal(t, "completed", e.Status)

	// Another one comes too late, and is dropped.
	early.ID = "late"
	require.NoError(t, n.Ask(ctx, eventstore.Stream{Tenant: node.Tenant, ID: "nobody"}, early))
	d = only()
	refusal(c.DropLetter(ctx, d.ID, client.LetterMove{}), "body", http.StatusBadRequest)
	require.NoError(t, c.DropLetter(ctx, d.ID, client.LetterMove{Reason: "too late", By: "ann"}))
	none()
	_, err = c.DeadLetter(ctx, d.ID)
	refusal(err, "deadletter.unknown", http.StatusNotFound)
	refusal(c.DropLetter(ctx, d.ID, client.LetterMove{Reason: "again"}), "deadletter.unknown", http.StatusNotFound)
	refusal(c.RedriveLetter(ctx, d.ID, client.LetterMove{}), "deadletter.unknown", http.StatusNotFound)

	// A task and emitted events that were given up.
	started, err := c.Start(ctx, client.StartRequest{Workflow: "emits"})
	require.NoError(t, err)
	_, err = c.Wait(ctx, started.ID)
	require.NoError(t, err)
	emitter := eventstore.Stream{Tenant: node.Tenant, ID: started.ID}
	for _, bury := range []func() error{
		func() error {
			return n.Worker.BuryTask(ctx, worker.Task{ID: "a/task", Stream: emitter, Class: worker.DefaultClass}, errors.New("a cause"))
		},
		func() error {
			return n.Worker.BuryEmission(ctx, eventstore.FeedEntry{Stream: emitter, First: 1}, errors.New("a cause"))
		},
		func() error {
			return n.Worker.BuryMessage(ctx, worker.Message{ID: "hint", Stream: emitter}, errors.New("a cause"))
		},
	} {
		require.NoError(t, bury())
		d = only()
		require.Equal(t, "a cause", d.Cause)
		d, err = c.DeadLetter(ctx, d.ID)
		require.NoError(t, err)
		require.NoError(t, c.RedriveLetter(ctx, d.ID, client.LetterMove{}))
		none()
	}
}
