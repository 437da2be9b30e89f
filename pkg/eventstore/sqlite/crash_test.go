//go:build unix

package sqlite_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/sqlite"
)

// TestMain runs the test binary as the process that a test kills, when the environment says so.
func TestMain(m *testing.M) {
	folder := os.Getenv("WOVYR_STORE_FOLDER")
	switch os.Getenv("WOVYR_STORE_CHILD") {
	case "write":
		writeForEver(folder)
	case "full":
		writeUntilFull(folder)
	default:
		os.Exit(m.Run())
	}
}

func child(t *testing.T, what, folder string) *exec.Cmd {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "WOVYR_STORE_CHILD="+what, "WOVYR_STORE_FOLDER="+folder)
	cmd.Stderr = os.Stderr
	return cmd
}

// crashWriters is how many streams the child writes to at once.
const crashWriters = 6

// writeForEver appends to some streams, each from where it ends, and prints every answer on a line of its own.
func writeForEver(folder string) {
	s, err := sqlite.Open(folder, sqlite.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for w := range crashWriters {
		go func() {
			stream := crashStream(w)
			head, hash, checkpoint := uint64(0), eventstore.Hash{}, uint64(0)
			if tail, err := s.Tail(context.Background(), stream); err == nil && len(tail) > 0 {
				last := tail[len(tail)-1]
				head, hash, checkpoint = last.Last, last.Hash(stream), last.Checkpoint
			}
			for n := 0; ; n++ {
				c := eventstore.Commit{First: head + 1, Last: head + 1 + uint64(n%3), Checkpoint: checkpoint, Prev: hash, Data: make([]byte, n*37%3000)}
				binary.BigEndian.PutUint64(c.Nonce[:], rand.Uint64()|1)
				if n%9 == 8 {
					c.Checkpoint = c.First
				}
				row := eventstore.Row{Stream: stream, Version: c.Last, Workflow: "crash", Started: int64(w), Open: true, Due: int64(c.Last)}
				if err := s.Append(context.Background(), stream, c, &row); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				head, hash, checkpoint = c.Last, c.Hash(stream), c.Checkpoint
				fmt.Printf("%d %d %s\n", w, c.Last, hash)
			}
		}()
	}
	select {}
}

func crashStream(w int) eventstore.Stream {
	return eventstore.Stream{Tenant: "acme", ID: fmt.Sprint("order-", w)}
}

// TestKilled kills a process that writes, at moments that it does not choose, again and again on one file. Whatever was
// answered must be there, and all that is there must be sound: what was not answered is there as a whole or not at all.
func TestKilled(t *testing.T) {
	folder := t.TempDir()
	const kills = 8
	for range kills {
		cmd := child(t, "write", folder)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		answered := map[int]uint64{}
		hashes := map[int]string{}
		lines := bufio.NewScanner(out)
		for n := 50 + rand.IntN(400); lines.Scan(); n-- {
			var w int
			var last uint64
			var hash string
			if _, err := fmt.Sscan(lines.Text(), &w, &last, &hash); err != nil {
				break // a line cut by the kill
			}
			answered[w], hashes[w] = last, hash
			if n == 0 {
				require.NoError(t, cmd.Process.Kill())
			}
		}
		require.Error(t, cmd.Wait(), "it was killed")
		require.NotEmpty(t, answered)

		s := open(t, folder)
		require.NoError(t, s.Integrity(t.Context()))
		for w := range crashWriters {
			stream := crashStream(w)
			proof, err := eventstore.Verify(t.Context(), s, stream)
			require.NoError(t, err)
			require.GreaterOrEqual(t, proof.Last, answered[w], "an answered commit is lost")
			if answered[w] > 0 {
				page, err := s.Page(t.Context(), stream, answered[w]-1, 1)
				require.NoError(t, err)
				require.Equal(t, hashes[w], page[0].Hash(stream).String())
				row, err := s.Row(t.Context(), stream)
				require.NoError(t, err)
				require.Equal(t, proof.Last, row.Version, "the row is of the same transaction")
			}
		}
		require.NoError(t, s.Close())
	}
}

// writeUntilFull lets the log grow to a limit that the system keeps, as a full disk would.
func writeUntilFull(folder string) {
	signal.Ignore(syscall.SIGXFSZ)
	s, err := sqlite.Open(folder, sqlite.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	stream := crashStream(0)
	put := func(n uint64) error {
		c := eventstore.Commit{First: n, Last: n, Nonce: eventstore.Nonce{byte(n), byte(n >> 8), 1}, Data: make([]byte, 5000)}
		return s.Append(context.Background(), stream, c, nil)
	}
	for n := uint64(1); n <= 5; n++ {
		if err := put(n); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	log, err := os.Stat(filepath.Join(folder, sqlite.FileName+"-wal"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	limit := syscall.Rlimit{Cur: uint64(log.Size()) + 6000, Max: uint64(log.Size()) + 6000}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	first, second := put(6), put(6)
	fmt.Println(errors.Is(first, eventstore.ErrUnknownOutcome), errors.Is(second, eventstore.ErrUnavailable))
	head, err := s.Head(context.Background(), stream)
	fmt.Println(head, err)
	os.Exit(0)
}

// TestFull shows what a writer is told when the disk is full in the middle of a commit, and that nothing answered is lost.
func TestFull(t *testing.T) {
	folder := t.TempDir()
	out, err := child(t, "full", folder).Output()
	require.NoError(t, err)
	require.Equal(t, "true true\n5 <nil>\n", string(out), "the outcome is unknown, then the store refuses, and reads go on")
	s := open(t, folder)
	proof, err := eventstore.Verify(t.Context(), s, crashStream(0))
	var corrupt *eventstore.CorruptError
	require.ErrorAs(t, err, &corrupt, "the child chained nothing")
	require.LessOrEqual(t, proof.Last, uint64(6))
	head, err := s.Head(t.Context(), crashStream(0))
	require.NoError(t, err)
	require.EqualValues(t, 5, head)
	require.NoError(t, s.Append(t.Context(), crashStream(0), eventstore.Commit{First: 6, Last: 6, Nonce: eventstore.Nonce{6, 0, 1}, Data: make([]byte, 5000)}, nil),
		"the same commit again, by the process that comes next")
	require.NoError(t, s.Integrity(t.Context()))
}
