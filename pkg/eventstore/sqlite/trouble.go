package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// DiskFullError says that there is no room for a write. Nothing is lost, and the same write succeeds when there is room again.
type DiskFullError struct {
	File string
	Err  error
}

// Error names the file and the way out.
func (e *DiskFullError) Error() string {
	return fmt.Sprintf("the disk is full: %s cannot grow (%v): free some space there", e.File, e.Err)
}

// Unwrap returns SQLite's error.
func (e *DiskFullError) Unwrap() error { return e.Err }

// BrokenError says that the disk failed while it made a commit durable. What the file holds is known only after it was opened again, so the
// store refuses every further write.
type BrokenError struct {
	File string
	Err  error
}

// Error names the file and the way out.
func (e *BrokenError) Error() string {
	return fmt.Sprintf("the disk failed under %s (%v): check the disk, then open the store again: what was committed is kept", e.File, e.Err)
}

// Unwrap returns SQLite's error.
func (e *BrokenError) Unwrap() error { return e.Err }

// DamagedError says that the file is not what SQLite wrote: overwritten, cut, or copied while it was in use.
type DamagedError struct {
	File string
	Err  error
}

// Error names the file and the way out.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s is damaged (%v): put a backup of its whole folder in its place; without one, keep a copy and let `sqlite3 %[1]s .recover` save what can be read", e.File, e.Err)
}

// Unwrap returns SQLite's error.
func (e *DamagedError) Unwrap() error { return e.Err }

// primary is the part of an error's code that says what happened; the rest says where.
const primary = 0xff

// explain turns an error of SQLite into one that names the file and the way out, where there is one.
func explain(file string, err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & primary {
	case codes.SQLITE_FULL:
		return &DiskFullError{file, err}
	case codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB:
		return &DamagedError{file, err}
	}
	return fmt.Errorf("%s: %w", file, err)
}

// full reports whether an error says that there is no room.
func full(err error) bool { return errors.As(err, new(*DiskFullError)) }

// damaged reports whether an error says that the file is damaged.
func damaged(err error) bool { return errors.As(err, new(*DamagedError)) }
