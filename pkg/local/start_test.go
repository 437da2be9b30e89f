package local_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// TestAnInputThatDoesNotFitStartsNothing: the schema is checked before anything is stored.
func TestAnInputThatDoesNotFitStartsNothing(t *testing.T) {
	p := start(t, t.TempDir())
	name := p.deploy(t, `
name: strict
input: { schema: { type: object, required: [ id ], properties: { id: { type: string } } } }
steps:
  a: { function: std.echo, with: { id: '${ input.id }' } }`)
	for _, input := range []string{`{}`, `{"id":7}`, `[]`, ``} {
		_, err := p.Worker.Start(context.Background(), worker.StartRequest{Tenant: tenant, Workflow: name, Key: "k", Input: workflow.Value(input)})
		var typed *workflow.Error
		require.ErrorAs(t, err, &typed, "input %q", input)
		require.Equal(t, "input.invalid", typed.Code)
	}
	rows, _, err := p.Store.List(t.Context(), tenant, eventstore.Filter{}, eventstore.Page{})
	require.NoError(t, err)
	require.Empty(t, rows)
	require.Equal(t, p.run(t, name, `{"id":"a"}`), <-p.ends)
}
