package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// openLocked opens a file for reading by others, and for writing by nobody else: on Windows that is the lock.
func openLocked(path string) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, syscall.FILE_SHARE_READ, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), nil
}

// errSharingViolation is ERROR_SHARING_VIOLATION, which package syscall does not name.
const errSharingViolation = syscall.Errno(32)

func isLocked(err error) bool { return errors.Is(err, errSharingViolation) }

// dead is false: a handle does not outlive its process here.
func dead(string) bool { return false }
