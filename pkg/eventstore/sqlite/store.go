package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"modernc.org/sqlite"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// FileName is the name of the store's file in its folder.
const FileName = "wovyr.db"

// readers is the number of connections that read. Reads are short; more would only share the processors.
const readers = 4

// Store implements eventstore.Store.
type Store struct {
	folder   string
	readOnly bool
	lock     *os.File // nil if read-only

	gate   sync.RWMutex // held for reading by every call, for writing by Close
	closed bool

	writer *writer // nil if read-only
	pool   chan *conn

	commitsRead, bytesRead atomic.Int64

	expiring expiry
}

var (
	_ eventstore.Store = (*Store)(nil)
	_ eventstore.Feed  = (*Store)(nil)
)

// Options are what may be chosen. The zero value is right for a worker.
type Options struct {
	// ReadOnly opens a store that another process may own: for looking at it. Every write returns ErrReadOnly.
	ReadOnly bool
}

// ErrReadOnly says that the store was opened read-only.
var ErrReadOnly = errors.New("the store was opened read-only")

// Open opens the store in a folder, and makes both if they are not there (not if read-only). It returns a *LockedError if
// another process owns the folder, a *SchemaError if the file is of another program or a newer one, a *DamagedError if it is damaged, and a
// *DiskFullError if it cannot be made.
func Open(folder string, o Options) (*Store, error) {
	s := &Store{folder: folder, readOnly: o.ReadOnly, pool: make(chan *conn, readers)}
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("open store: %w", errors.Join(explain(s.File(), err), s.release()))
	}
	return s, nil
}

// File is the path of the store's file.
func (s *Store) File() string { return filepath.Join(s.folder, FileName) }

func (s *Store) open() error {
	file := s.File()
	if s.readOnly {
		if _, err := os.Stat(file); err != nil {
			return err
		}
	} else if err := s.own(file); err != nil {
		return err
	}
	for range readers {
		c, err := openConn(file)
		if err != nil {
			return err
		}
		s.pool <- c
		switch version, err := checkSchema(c, file); {
		case err != nil:
			return err
		case version < len(migrations):
			return &SchemaError{file, "its schema is older than this program's: open it once for writing"}
		}
		if err := c.pragmas(readerPragmas); err != nil {
			return err
		}
	}
	return nil
}

// own takes the folder and opens the connection that writes.
func (s *Store) own(file string) error {
	if err := os.MkdirAll(s.folder, 0o700); err != nil {
		return err
	}
	var err error
	if s.lock, err = lockFolder(s.folder); err != nil {
		return err
	}
	// fdatasync writes all that a commit needs; the time stamps that fsync adds cost as much again. Where there is no such
	// call, SQLite uses what there is.
	if _, err := sqlite.Fdatasync(true); err != nil && !errors.Is(err, sqlite.ErrFdatasyncUnavailable) {
		return err
	}
	if err := private(file); err != nil {
		return err
	}
	c, err := openConn(file)
	if err != nil {
		return err
	}
	s.writer = newWriter(c, file)
	version, err := checkSchema(c, file)
	if err != nil {
		return err
	}
	if err := c.pragmas(writerPragmas); err != nil {
		return err
	}
	if err := checkPragmas(c); err != nil {
		return err
	}
	if err := migrate(c, version); err != nil {
		return err
	}
	return syncFolder(s.folder)
}

// private makes the file if it is not there, readable by its owner alone; SQLite gives its other files the same rights.
func private(file string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// Pragmas of the connections. Every 4 MB of the log are moved into the file: more at once would keep writers waiting for longer,
// and cost as much. The log is then reused from its start, not cut, so that most commits write where the file system has room
// already. The writer's cache is small because SQLite walks through all of it when it begins the log anew; with 64 MB that
// took longer than all else together.
var (
	writerPragmas = []string{
		"page_size = 4096", "journal_mode = WAL", "synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON",
		"wal_autocheckpoint = 1000", "journal_size_limit = 67108864", "cache_size = -8192", "temp_store = MEMORY",
	}
	readerPragmas = []string{"query_only = ON", "cache_size = -8192", "temp_store = MEMORY"}
)

// checkPragmas makes sure that the file is as durable as promised: SQLite does not complain of a journal mode that it cannot set.
func checkPragmas(c *conn) error {
	for query, want := range map[string]any{"PRAGMA journal_mode": "wal", "PRAGMA synchronous": int64(2)} {
		found, err := c.one(query, func(r row) error {
			if r[0] != want {
				return fmt.Errorf("%s is %v, not %v: is the folder on a file system without shared memory?", query, r[0], want)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("%s has no answer", query)
		}
	}
	return nil
}

// syncFolder makes the names of the files in a folder durable.
func syncFolder(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !os.IsPermission(err) {
		return err
	}
	return nil
}

// Close waits for the calls under way, makes later ones fail with ErrClosed, and gives the folder back.
func (s *Store) Close() error {
	s.gate.Lock()
	defer s.gate.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.release()
}

func (s *Store) release() error {
	var errs []error
	for range len(s.pool) {
		errs = append(errs, (<-s.pool).close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.conn.close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

// Stats counts what a store did since it was opened.
type Stats struct {
	// CommitsRead and BytesRead are what History's methods and ReadCommit read. A load does not grow with the history.
	CommitsRead, BytesRead int64
	// Writes are the calls that wrote, Transactions the transactions that they shared.
	Writes, Transactions int64
}

// Stats returns the counts so far.
func (s *Store) Stats() Stats {
	stats := Stats{CommitsRead: s.commitsRead.Load(), BytesRead: s.bytesRead.Load()}
	if s.writer != nil {
		stats.Writes, stats.Transactions = s.writer.writes.Load(), s.writer.transactions.Load()
	}
	return stats
}

// Integrity lets SQLite check the whole file and returns what it finds wrong, nil if nothing is. It takes its time.
func (s *Store) Integrity(ctx context.Context) error {
	return s.read(ctx, nil, func(c *conn) error {
		return c.query("PRAGMA integrity_check", func(r row) error {
			if r.text(0) != "ok" {
				return &DamagedError{s.File(), errors.New(r.text(0))}
			}
			return nil
		})
	})
}

// read runs f with a connection that reads, unless an argument is wrong.
func (s *Store) read(ctx context.Context, wrong error, f func(*conn) error) error {
	if wrong != nil {
		return wrong
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed {
		return eventstore.ErrClosed
	}
	// Not bound to ctx: each read is bounded, and a statement that watches a context costs a goroutine.
	c := <-s.pool
	defer func() { s.pool <- c }()
	err := f(c)
	var db *dbError
	if errors.As(err, &db) {
		if err = explain(s.File(), err); damaged(err) {
			return err
		}
		return &eventstore.UnavailableError{Op: "read", Err: err}
	}
	return err
}

// write runs do in a transaction, together with other writers, and returns when it is durable, unless an argument is wrong. If do
// returns an error that is not SQLite's, it has written nothing.
func (s *Store) write(ctx context.Context, wrong error, size int, do func(*writer) error) error {
	if wrong != nil {
		return wrong
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.gate.RLock()
	defer s.gate.RUnlock()
	switch {
	case s.closed:
		return eventstore.ErrClosed
	case s.readOnly:
		return ErrReadOnly
	}
	// Not bound to ctx: a caller that left would not know the outcome, and it is short.
	return s.writer.submit(size, do)
}
