package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// lockName is the file whose lock says that a process owns the folder.
const lockName = "wovyr.lock"

// LockedError says that another process owns the folder.
type LockedError struct {
	Folder string
	// Process is the other's process ID, "?" if it is not known.
	Process string
}

// Error names the folder and the way out.
func (e *LockedError) Error() string {
	return fmt.Sprintf("folder %s is in use by process %s: stop that one first, name another folder, or open this one read-only", e.Folder, e.Process)
}

// A process that was killed while it started a program leaves a copy of itself for a moment, which holds the lock until it has become
// that program. So a lock whose owner is dead is tried again, for a while.
const (
	lockPause = 20 * time.Millisecond
	lockTries = 250
)

var restForLock = func() { time.Sleep(lockPause) }

// lockFolder takes the folder's lock, which ends with the process at the latest, and leaves its process ID in the file.
func lockFolder(folder string) (*os.File, error) {
	path := filepath.Join(folder, lockName)
	f, err := openLocked(path)
	for try := 1; err != nil && isLocked(err); try++ {
		owner := lockOwner(path)
		if try == lockTries || !dead(owner) {
			return nil, &LockedError{Folder: folder, Process: owner}
		}
		restForLock()
		f, err = openLocked(path)
	}
	if err != nil {
		return nil, fmt.Errorf("lock folder %s: %w", folder, err)
	}
	if err = f.Truncate(0); err == nil {
		_, err = fmt.Fprintf(f, "%d\n", os.Getpid())
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock folder %s: %w", folder, err)
	}
	return f, nil
}

// lockOwner is the process ID in a lock's file, "?" if it cannot be read.
func lockOwner(path string) string {
	b, err := os.ReadFile(path)
	if owner := strings.TrimSpace(string(b)); err == nil && owner != "" {
		return owner
	}
	return "?"
}
