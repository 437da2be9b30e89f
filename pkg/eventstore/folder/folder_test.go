package folder_test

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/folder"
	"github.com/wovyr/wovyr/pkg/eventstore/storetest"
)

// files returns the files below a folder, by path.
func files(t *testing.T, root string) []string {
	var all []string
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, path)
		}
		return err
	}))
	return all
}

func TestPayloads(t *testing.T) {
	storetest.RunPayloads(t, func(t *testing.T) storetest.PayloadSubject {
		const limit = 101 << 20
		root := t.TempDir()
		p, err := folder.Open(root, folder.Options{Limit: limit})
		require.NoError(t, err)
		payloads := func() []string {
			return slices.DeleteFunc(files(t, root), func(path string) bool {
				rel, err := filepath.Rel(root, path)
				require.NoError(t, err)
				first, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
				require.NotEqual(t, "new", first, "something half written is left")
				return first != "data"
			})
		}
		return storetest.PayloadSubject{
			Store: p, Limit: limit, Streams: true,
			Stored: func() int { return len(payloads()) },
			Rewrite: func(_ string, ref eventstore.Ref, content []byte) {
				for _, path := range payloads() {
					if filepath.Base(path) == ref.Hash.String() {
						require.NoError(t, os.WriteFile(path, content, 0o600))
					}
				}
			},
		}
	})
}

func TestReopen(t *testing.T) {
	root := t.TempDir()
	owner := eventstore.Stream{Tenant: "acme", ID: "order-1"}
	p, err := folder.Open(root, folder.Options{})
	require.NoError(t, err)
	ref, err := p.Put(t.Context(), owner, strings.NewReader("content"))
	require.NoError(t, err)
	half := filepath.Join(root, "new", "12345")
	require.NoError(t, os.WriteFile(half, []byte("half"), 0o600))

	look, err := folder.Open(root, folder.Options{ReadOnly: true})
	require.NoError(t, err)
	require.FileExists(t, half, "who only looks cleans up nothing")
	r, err := look.Open(t.Context(), "acme", ref)
	require.NoError(t, err)
	content, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.Equal(t, "content", string(content))
	_, err = look.Put(t.Context(), owner, strings.NewReader("x"))
	require.ErrorIs(t, err, folder.ErrReadOnly)
	require.ErrorIs(t, look.Own(t.Context(), owner, ref), folder.ErrReadOnly)
	require.ErrorIs(t, look.Release(t.Context(), owner), folder.ErrReadOnly)

	p, err = folder.Open(root, folder.Options{})
	require.NoError(t, err)
	require.NoFileExists(t, half)
	require.NoError(t, p.Release(t.Context(), owner))
	require.Empty(t, files(t, root))
}

// TestCrashedPut makes what a crash leaves between the steps of a Put and of a Release: nobody may be harmed by it, and a repeat
// completes it.
func TestCrashedPut(t *testing.T) {
	first, second := eventstore.Stream{Tenant: "acme", ID: "order-1"}, eventstore.Stream{Tenant: "acme", ID: "order-2"}
	for step := range 4 {
		root := t.TempDir()
		p, err := folder.Open(root, folder.Options{})
		require.NoError(t, err)
		ref, err := p.Put(t.Context(), first, strings.NewReader("content"))
		require.NoError(t, err)
		// Put makes held, owners, data, in this order; Release removes owners, data, held.
		all := files(t, root)
		require.Len(t, all, 3)
		of := func(kind string) string {
			return all[slices.IndexFunc(all, func(path string) bool { return strings.HasPrefix(path, filepath.Join(root, kind)) })]
		}
		for _, gone := range [][]string{{of("data")}, {of("data"), of("owners")}, {of("owners")}, {}}[step] {
			require.NoError(t, os.Remove(gone))
		}
		again, err := p.Put(t.Context(), second, bytes.NewReader([]byte("content")))
		require.NoError(t, err)
		require.Equal(t, ref, again)
		require.NoError(t, p.Release(t.Context(), first))
		r, err := p.Open(t.Context(), "acme", ref)
		require.NoError(t, err, "step %d", step)
		require.NoError(t, r.Close())
		require.NoError(t, p.Release(t.Context(), second))
		require.Empty(t, files(t, root), "step %d", step)
	}
}
