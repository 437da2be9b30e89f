package node_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/e2e"
	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/node"
	"github.com/wovyr/wovyr/pkg/project"
)

// TestEndToEnd runs the scenarios of every platform on a node.
func TestEndToEnd(t *testing.T) {
	p, err := project.Load(t.TempDir())
	require.NoError(t, err)
	n, err := node.Open(node.Options{Project: p, Data: t.TempDir()})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx, time.Second) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	e2e.Run(t, e2e.Target{Client: &client.Client{Server: n.URL}, Patience: 2 * time.Minute, Look: 50 * time.Millisecond})
}
