//go:build unix

package sqlite

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheLockOfADeadOwner: a killed process may leave a copy of itself that is about to become another program, and holds the lock until then.
func TestTheLockOfADeadOwner(t *testing.T) {
	gone := exec.Command("true")
	require.NoError(t, gone.Run())
	defer func(usual func()) { restForLock = usual }(restForLock)
	for _, releasedAfter := range []int{1, 5, lockTries} {
		folder := t.TempDir()
		held, err := openLocked(filepath.Join(folder, lockName))
		require.NoError(t, err)
		_, err = fmt.Fprintln(held, gone.Process.Pid)
		require.NoError(t, err)
		rests := 0
		restForLock = func() {
			if rests++; rests == releasedAfter {
				require.NoError(t, held.Close())
			}
		}
		f, err := lockFolder(folder)
		if releasedAfter == lockTries {
			require.Equal(t, &LockedError{Folder: folder, Process: fmt.Sprint(gone.Process.Pid)}, err)
			require.Equal(t, lockTries-1, rests)
			require.NoError(t, held.Close())
			continue
		}
		require.NoError(t, err)
		require.Equal(t, releasedAfter, rests)
		require.NoError(t, f.Close())
	}
}

// TestTheLockOfALivingOwner is refused at once.
func TestTheLockOfALivingOwner(t *testing.T) {
	defer func(usual func()) { restForLock = usual }(restForLock)
	restForLock = func() { t.Error("it waits for a living process") }
	folder := t.TempDir()
	held, err := lockFolder(folder)
	require.NoError(t, err)
	defer held.Close()
	_, err = lockFolder(folder)
	require.ErrorAs(t, err, new(*LockedError))
}
