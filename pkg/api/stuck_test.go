package api_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/node"
	"github.com/wovyr/wovyr/pkg/project"
)

// TestListStuck: an execution that the sweep has repaired again and again is listed, and others are not.
func TestListStuck(t *testing.T) {
	n, err := node.Open(node.Options{Project: &project.Project{}, Data: t.TempDir()})
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- n.Run(t.Context(), 0) }()
	t.Cleanup(func() { require.NoError(t, <-ended) })
	c := &client.Client{Server: n.URL}
	_, err = c.Deploy(t.Context(), "test.yaml", []byte("dsl: wovyr/v1\n"+waiting))
	require.NoError(t, err)
	var ids []string
	for range 3 {
		e, err := c.Start(t.Context(), client.StartRequest{Workflow: "waiting"})
		require.NoError(t, err)
		ids = append(ids, e.ID)
	}
	stuck := func(query url.Values) (found []client.Execution) {
		query.Set("stuck", "true")
		for {
			page, err := c.List(t.Context(), query)
			require.NoError(t, err)
			found = append(found, page.Items...)
			if page.Next == "" {
				return found
			}
			query.Set("cursor", page.Next)
		}
	}
	require.Empty(t, stuck(url.Values{}))
	row, err := n.Worker.Store.Row(t.Context(), eventstore.Stream{Tenant: node.Tenant, ID: ids[1]})
	require.NoError(t, err)
	row.Revision, row.Repairs, row.Due = row.Revision+1, n.Worker.Limits.Repairs, n.Worker.Clock.Now()+int64(n.Worker.Limits.Dispatch)
	put, err := n.Worker.Store.PutRow(t.Context(), row)
	require.NoError(t, err)
	require.True(t, put)
	found := stuck(url.Values{})
	require.Len(t, found, 1)
	require.Equal(t, ids[1], found[0].ID)
	require.Equal(t, n.Worker.Limits.Repairs, found[0].Repairs)
	require.Len(t, stuck(url.Values{"workflow": {"waiting"}}), 1)
	require.Empty(t, stuck(url.Values{"workflow": {"another"}}))
	all, err := c.List(t.Context(), url.Values{})
	require.NoError(t, err)
	require.Len(t, all.Items, 3)
}
