package local_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/std"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/sqlite"
	"github.com/wovyr/wovyr/pkg/local"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// TestGoesOnWhenThereIsRoomAgain fills the disk under a workflow: the platform says so, and the workflow completes when there is room again, with
// nobody's help. It needs the right to mount a file system.
func TestGoesOnWhenThereIsRoomAgain(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("wovyr", disk, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("no right to mount a file system: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(disk, 0)) })
	ballast := filepath.Join(disk, "ballast")
	require.NoError(t, os.WriteFile(ballast, make([]byte, 2<<20), 0o600))
	kinds := activity.NewRegistry()
	require.NoError(t, kinds.Functions.Add(std.Functions()...))
	trouble, ends := make(chan error, 100), make(chan string, 1)
	open, err := local.Open(filepath.Join(disk, "data"), local.Options{Activities: kinds, Trouble: func(err error) { trouble <- err },
		Committed: func(s eventstore.Stream, _ []workflow.Recorded, state *workflow.State) {
			if state.Status.Terminal() {
				ends <- s.ID
			}
		}})
	require.NoError(t, err)
	p := run(t, open)
	id := p.run(t, p.deploy(t, `
name: fills
steps:
  again: { loop: { until: iteration >= 300, max: 300, steps: { s: { function: std.echo, with: { n: '${ range(1200) }' } } } } }`), `{}`)
	var full *sqlite.DiskFullError
	require.ErrorAs(t, <-trouble, &full)
	require.NoError(t, os.Remove(ballast))
	require.NoError(t, syscall.Mount("wovyr", disk, "tmpfs", syscall.MS_REMOUNT, "size=64m"))
	require.NoError(t, <-trouble, "it says that it goes on")
	require.Equal(t, id, <-ends)
	require.Equal(t, "Completed", p.state(t, id).Status.String())
	_, err = eventstore.Verify(t.Context(), p.Store, eventstore.Stream{Tenant: tenant, ID: id})
	require.NoError(t, err)
	p.stop()
}
