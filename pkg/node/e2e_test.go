package node_test

import (
	"context"
	"os"
	"path/filepath"
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
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, project.FileName), []byte("secrets: { "+e2e.SecretName+": { file: hooks.txt } }\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hooks.txt"), []byte(e2e.SecretValue), 0o600))
	p, err := project.Load(dir)
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
