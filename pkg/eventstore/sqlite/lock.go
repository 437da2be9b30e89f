package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// lockFolder takes the folder's lock, which ends with the process at the latest, and leaves its process ID in the file.
func lockFolder(folder string) (*os.File, error) {
	path := filepath.Join(folder, lockName)
	f, err := openLocked(path)
	if err != nil {
		if !isLocked(err) {
			return nil, fmt.Errorf("lock folder %s: %w", folder, err)
		}
		other := "?"
		if b, err := os.ReadFile(path); err == nil && len(b) > 0 {
			other = strings.TrimSpace(string(b))
		}
		return nil, &LockedError{Folder: folder, Process: other}
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
