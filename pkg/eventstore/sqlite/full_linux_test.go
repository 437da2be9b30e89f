package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/sqlite"
)

// TestAFullDisk fills a real file system under the store: what was answered with success is there, the store says what is wrong, and goes on when
// there is room again. It needs the right to mount one.
func TestAFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("wovyr", disk, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("no right to mount a file system: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(disk, 0)) })
	ballast := filepath.Join(disk, "ballast")
	require.NoError(t, os.WriteFile(ballast, make([]byte, 2<<20), 0o600))
	folder := filepath.Join(disk, "data")
	s, err := sqlite.Open(folder, sqlite.Options{})
	require.NoError(t, err)

	stream := eventstore.Stream{Tenant: "acme", ID: "order-1"}
	var last eventstore.Commit
	full := 0
	for n := uint64(1); n <= 250; n++ {
		c := eventstore.Commit{First: n, Last: n, Checkpoint: last.Checkpoint, Nonce: eventstore.Nonce{1, byte(n)}, Data: make([]byte, 8<<10)}
		if n > 1 {
			c.Prev = last.Hash(stream)
		}
		err := eventstore.AppendSurely(t.Context(), s, stream, c, nil, eventstore.Patience{Tries: 3})
		if err != nil {
			var e *sqlite.DiskFullError
			require.ErrorAs(t, err, &e)
			require.Equal(t, filepath.Join(folder, sqlite.FileName), e.File)
			head, err := s.Head(t.Context(), stream)
			require.NoError(t, err, "a full disk can be read")
			require.Equal(t, n-1, head)
			full++
			require.Equal(t, 1, full, "there is room again")
			require.NoError(t, os.Remove(ballast))
			require.NoError(t, syscall.Mount("wovyr", disk, "tmpfs", syscall.MS_REMOUNT, "size=64m"))
			require.NoError(t, eventstore.AppendSurely(t.Context(), s, stream, c, nil, eventstore.Patience{Tries: 3}), "nothing but room was missing")
		}
		last = c
	}
	require.Equal(t, 1, full, "the disk was never full")
	require.NoError(t, s.Close())
	s, err = sqlite.Open(folder, sqlite.Options{})
	require.NoError(t, err)
	proof, err := eventstore.Verify(t.Context(), s, stream)
	require.NoError(t, err)
	require.EqualValues(t, 250, proof.Last)
	require.NoError(t, s.Integrity(t.Context()))
	require.NoError(t, s.Close())
}

// TestADamagedFile overwrites, cuts and empties the file: whoever meets that is told which file it is, and what to do.
func TestADamagedFile(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, file string, size int64){
		"header": func(t *testing.T, file string, _ int64) { scribble(t, file, 0, 100) },
		"pages":  func(t *testing.T, file string, size int64) { scribble(t, file, 4096, size-4096) },
		"cut":    func(t *testing.T, file string, size int64) { require.NoError(t, os.Truncate(file, size/2)) },
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			s, err := sqlite.Open(folder, sqlite.Options{})
			require.NoError(t, err)
			for i := range 100 {
				stream := eventstore.Stream{Tenant: "acme", ID: fmt.Sprint("order-", i)}
				require.NoError(t, s.Append(t.Context(), stream, eventstore.Commit{First: 1, Last: 1, Nonce: eventstore.Nonce{1}, Data: make([]byte, 2000)}, nil))
			}
			require.NoError(t, s.Close())
			file := filepath.Join(folder, sqlite.FileName)
			info, err := os.Stat(file)
			require.NoError(t, err)
			damage(t, file, info.Size())
			for _, o := range []sqlite.Options{{ReadOnly: true}, {}} {
				err := meet(t, folder, o)
				var damaged *sqlite.DamagedError
				require.ErrorAs(t, err, &damaged)
				require.Equal(t, file, damaged.File)
				require.ErrorContains(t, err, "backup")
			}
		})
	}
}

// meet opens a store, and reads all of it if it opens.
func meet(t *testing.T, folder string, o sqlite.Options) error {
	s, err := sqlite.Open(folder, o)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Integrity(t.Context())
}

func scribble(t *testing.T, file string, at, n int64) {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	require.NoError(t, err)
	noise := make([]byte, n)
	for i := range noise {
		noise[i] = byte(i*7 + 13)
	}
	_, err = f.WriteAt(noise, at)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}
