package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/sqlite"
	"github.com/wovyr/wovyr/pkg/eventstore/storetest"
)

func open(t testing.TB, folder string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(folder, sqlite.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		folder := t.TempDir()
		s := open(t, folder)
		t.Cleanup(func() { require.NoError(t, open(t, folder).Integrity(context.Background())) })
		return storetest.Subject{
			Store: s,
			Reopen: func() eventstore.Store {
				require.NoError(t, s.Close())
				s = open(t, folder)
				return s
			},
			Tamper: func(stream eventstore.Stream, change func([]eventstore.Commit) []eventstore.Commit) {
				tamper(t, folder, stream, change)
			},
			Reads: func() (int64, int64) { r := s.Stats(); return r.CommitsRead, r.BytesRead },
		}
	})
}

// tamper writes to the file as any program may that has the right to.
func tamper(t *testing.T, folder string, stream eventstore.Stream, change func([]eventstore.Commit) []eventstore.Commit) {
	db, err := sql.Open("sqlite", filepath.Join(folder, sqlite.FileName))
	require.NoError(t, err)
	defer db.Close()
	var id int64
	require.NoError(t, db.QueryRow(`SELECT id FROM streams WHERE tenant=? AND name=?`, stream.Tenant, stream.ID).Scan(&id))
	rows, err := db.Query(`SELECT first, last, checkpoint, nonce, prev, data FROM commits WHERE stream=? ORDER BY first`, id)
	require.NoError(t, err)
	var commits []eventstore.Commit
	for rows.Next() {
		var c eventstore.Commit
		var nonce, prev []byte
		require.NoError(t, rows.Scan(&c.First, &c.Last, &c.Checkpoint, &nonce, &prev, &c.Data))
		copy(c.Nonce[:], nonce)
		copy(c.Prev[:], prev)
		commits = append(commits, c)
	}
	require.NoError(t, rows.Err())
	require.NoError(t, rows.Close())
	tx, err := db.Begin()
	require.NoError(t, err)
	_, err = tx.Exec(`DELETE FROM commits WHERE stream=?`, id)
	require.NoError(t, err)
	for _, c := range change(commits) {
		_, err = tx.Exec(`INSERT INTO commits(stream, first, last, checkpoint, nonce, prev, data) VALUES(?, ?, ?, ?, ?, ?, ?)`,
			id, c.First, c.Last, c.Checkpoint, c.Nonce[:], c.Prev[:], c.Data)
		require.NoError(t, err)
	}
	require.NoError(t, tx.Commit())
}

func TestOneProcessOwnsTheFolder(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder)
	_, err := sqlite.Open(folder, sqlite.Options{})
	var locked *sqlite.LockedError
	require.ErrorAs(t, err, &locked)
	require.Equal(t, folder, locked.Folder)
	require.ErrorContains(t, err, "stop that one first")
	require.NoError(t, s.Append(t.Context(), eventstore.Stream{Tenant: "a", ID: "b"}, eventstore.Commit{First: 1, Last: 1, Nonce: eventstore.Nonce{1}}, nil),
		"the owner is not disturbed")
	require.NoError(t, s.Close())
	open(t, folder)
}

func TestReadOnly(t *testing.T) {
	folder := t.TempDir()
	_, err := sqlite.Open(folder, sqlite.Options{ReadOnly: true})
	require.ErrorIs(t, err, os.ErrNotExist, "nothing is made")
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, entries)

	owner := open(t, folder)
	stream := eventstore.Stream{Tenant: "a", ID: "b"}
	put := func(n uint64) {
		row := eventstore.Row{Stream: stream, Version: n, Workflow: "w", Due: 5}
		require.NoError(t, owner.Append(t.Context(), stream, eventstore.Commit{First: n, Last: n, Nonce: eventstore.Nonce{byte(n)}}, &row))
	}
	put(1)
	look, err := sqlite.Open(folder, sqlite.Options{ReadOnly: true})
	require.NoError(t, err)
	for n := uint64(1); n < 4; n++ {
		head, err := look.Head(t.Context(), stream)
		require.NoError(t, err)
		require.Equal(t, n, head, "it sees what the owner writes")
		row, err := look.Row(t.Context(), stream)
		require.NoError(t, err)
		require.Equal(t, n, row.Version)
		put(n + 1)
	}
	require.ErrorIs(t, look.Append(t.Context(), stream, eventstore.Commit{First: 5, Last: 5, Nonce: eventstore.Nonce{9}}, nil), sqlite.ErrReadOnly)
	_, err = look.Expire(t.Context(), 1, 10)
	require.NoError(t, err, "there is nothing to expire")
	require.NoError(t, look.Close())
	put(5)
	require.NoError(t, owner.Integrity(t.Context()))
}

func TestForeignFiles(t *testing.T) {
	for name, test := range map[string]struct {
		sql, want string
		text      string
	}{
		"another program's": {sql: `CREATE TABLE t(x)`, want: "another program"},
		"another format":    {sql: `PRAGMA application_id = 7`, want: "another program"},
		"a newer schema":    {sql: `PRAGMA application_id = 0x57767972; PRAGMA user_version = 99`, want: "use the newer program"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			db, err := sql.Open("sqlite", filepath.Join(folder, sqlite.FileName))
			require.NoError(t, err)
			_, err = db.Exec(test.sql)
			require.NoError(t, err)
			require.NoError(t, db.Close())
			before, err := os.ReadFile(filepath.Join(folder, sqlite.FileName))
			require.NoError(t, err)
			for _, o := range []sqlite.Options{{}, {ReadOnly: true}} {
				_, err = sqlite.Open(folder, o)
				var schema *sqlite.SchemaError
				require.ErrorAs(t, err, &schema)
				require.ErrorContains(t, err, test.want)
			}
			after, err := os.ReadFile(filepath.Join(folder, sqlite.FileName))
			require.NoError(t, err)
			require.True(t, bytes.Equal(before, after), "the file is left as it was")
		})
	}
	t.Run("no SQLite file", func(t *testing.T) {
		folder := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(folder, sqlite.FileName), []byte("some text that is long enough to be looked at as a header of a file, or so it should be"), 0o600))
		_, err := sqlite.Open(folder, sqlite.Options{})
		require.ErrorContains(t, err, "not a database")
	})
	t.Run("folder of any name", func(t *testing.T) {
		folder := filepath.Join(t.TempDir(), "a?mode=memory#b%41 c;é")
		s := open(t, folder)
		require.NoError(t, s.Append(t.Context(), eventstore.Stream{Tenant: "a", ID: "b"}, eventstore.Commit{First: 1, Last: 1, Nonce: eventstore.Nonce{1}}, nil))
		require.FileExists(t, filepath.Join(folder, sqlite.FileName))
	})
}
