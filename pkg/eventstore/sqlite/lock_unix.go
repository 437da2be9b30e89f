//go:build unix

package sqlite

import (
	"errors"
	"os"
	"strconv"
	"syscall"
)

// openLocked opens a file and locks it. The lock belongs to the open file, so a second one in the same process is refused too.
func openLocked(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func isLocked(err error) bool { return errors.Is(err, syscall.EWOULDBLOCK) }

// dead reports whether a process is known to be gone.
func dead(process string) bool {
	pid, err := strconv.Atoi(process)
	return err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
