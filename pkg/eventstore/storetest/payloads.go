package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// PayloadSubject is one payload store under test, fresh and empty, and what the tests need to know of its kind.
type PayloadSubject struct {
	Store eventstore.PayloadStore
	// Limit is the largest payload that this one takes, at least 2 MB.
	Limit int64
	// Streams says that a payload never is in memory as a whole.
	Streams bool
	// Stored counts the payloads that are kept.
	Stored func() int
	// Rewrite replaces the bytes of a payload behind the store's back.
	Rewrite func(tenant string, ref eventstore.Ref, content []byte)
}

// RunPayloads tests a kind of payload store.
func RunPayloads(t *testing.T, open func(t *testing.T) PayloadSubject) {
	for name, test := range map[string]func(*testing.T, *payloads){
		"put and open":      testPutAndOpen,
		"once":              testStoredOnce,
		"large":             testLargePayload,
		"limit":             testPayloadLimit,
		"source fails":      testSourceFails,
		"corrupt":           testCorruptPayload,
		"owners":            testOwners,
		"owners race":       testOwnersRace,
		"owners and models": testOwnersModel,
		"names":             testPayloadNames,
	} {
		t.Run(name, func(t *testing.T) { test(t, &payloads{T: t, PayloadSubject: open(t), ctx: t.Context()}) })
	}
}

type payloads struct {
	*testing.T
	PayloadSubject
	ctx context.Context
}

func (p *payloads) put(owner eventstore.Stream, content []byte) eventstore.Ref {
	p.Helper()
	ref, err := p.Store.Put(p.ctx, owner, bytes.NewReader(content))
	require.NoError(p, err)
	require.Equal(p, eventstore.Ref{Hash: sha256.Sum256(content), Size: int64(len(content))}, ref)
	return ref
}

// get reads a payload to its end.
func (p *payloads) get(tenant string, ref eventstore.Ref) ([]byte, error) {
	r, err := p.Store.Open(p.ctx, tenant, ref)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func (p *payloads) requireThere(tenant string, ref eventstore.Ref, content []byte) {
	p.Helper()
	got, err := p.get(tenant, ref)
	require.NoError(p, err)
	require.True(p, bytes.Equal(content, got))
}

func (p *payloads) requireGone(tenant string, ref eventstore.Ref) {
	p.Helper()
	_, err := p.get(tenant, ref)
	require.ErrorIs(p, err, eventstore.ErrNotFound)
}

func testPutAndOpen(t *testing.T, p *payloads) {
	p.requireGone("acme", eventstore.Ref{Size: 3})
	for _, size := range []int{0, 1, 4095, 4096, 70_000, 1 << 20} {
		content := bytes.Repeat([]byte{byte(size), 7, 9}, size/3+1)[:size]
		ref := p.put(order, content)
		p.requireThere("acme", ref, content)
		p.requireThere("acme", ref, content)
		p.requireGone("other", ref)
		parsed, err := eventstore.ParseRef(ref.String())
		require.NoError(t, err)
		require.Equal(t, ref, parsed)
	}
}

func testStoredOnce(t *testing.T, p *payloads) {
	content := []byte("the same")
	ref := p.put(order, content)
	require.Equal(t, ref, p.put(order, content))
	require.Equal(t, ref, p.put(eventstore.Stream{Tenant: "acme", ID: "order-2"}, content))
	require.Equal(t, 1, p.Stored())
	p.put(eventstore.Stream{Tenant: "other", ID: "order-1"}, content)
	require.Equal(t, 2, p.Stored(), "tenants share nothing")
	p.put(order, []byte("another"))
	require.Equal(t, 3, p.Stored())
}

// pattern yields so many bytes that need not be kept anywhere, and notes how much memory is in use while it does.
type pattern struct {
	left int64
	heap uint64
	read int
}

func (p *pattern) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(b)), p.left)
	for i := range b[:n] {
		b[i] = byte((p.left - int64(i)) >> 10)
	}
	p.left -= n
	p.note()
	return int(n), nil
}

// Write compares what comes with what Read yields.
func (p *pattern) Write(b []byte) (int, error) {
	for i := range b {
		if b[i] != byte((p.left-int64(i))>>10) {
			return i, fmt.Errorf("byte %d from the end is wrong", p.left-int64(i))
		}
	}
	p.left -= int64(len(b))
	p.note()
	return len(b), nil
}

func (p *pattern) note() {
	if p.read++; p.read%64 == 0 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		p.heap = max(p.heap, m.HeapAlloc)
	}
}

func testLargePayload(t *testing.T, p *payloads) {
	const large, room = 100 << 20, 16 << 20
	if !p.Streams {
		t.Skip("a store in memory holds payloads in memory")
	}
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	in := &pattern{left: large}
	ref, err := p.Store.Put(p.ctx, order, in)
	require.NoError(t, err)
	require.EqualValues(t, large, ref.Size)
	out := &pattern{left: large}
	r, err := p.Store.Open(p.ctx, "acme", ref)
	require.NoError(t, err)
	defer r.Close()
	n, err := io.Copy(out, r)
	require.NoError(t, err)
	require.EqualValues(t, large, n)
	require.NotZero(t, in.heap)
	require.NotZero(t, out.heap)
	require.Less(t, in.heap, before.HeapAlloc+room, "memory while 100 MB go in")
	require.Less(t, out.heap, before.HeapAlloc+room, "memory while 100 MB come out")
}

func testPayloadLimit(t *testing.T, p *payloads) {
	ref, err := p.Store.Put(p.ctx, order, &pattern{left: p.Limit})
	require.NoError(t, err)
	require.Equal(t, p.Limit, ref.Size)
	_, err = p.Store.Put(p.ctx, order, &pattern{left: p.Limit + 1})
	var limit *eventstore.LimitError
	require.ErrorAs(t, err, &limit)
	require.Equal(t, p.Limit, limit.Limit)
	_, err = p.Store.Put(p.ctx, order, &pattern{left: 1 << 62})
	require.ErrorAs(t, err, &limit, "a source without end is read no further than the limit")
	require.Equal(t, 1, p.Stored())
}

// broken yields some bytes and then an error.
type broken struct {
	bytes int
	err   error
}

func (b *broken) Read(to []byte) (int, error) {
	if b.bytes == 0 {
		return 0, b.err
	}
	n := min(b.bytes, len(to))
	b.bytes -= n
	return n, nil
}

func testSourceFails(t *testing.T, p *payloads) {
	lost := errors.New("connection lost")
	_, err := p.Store.Put(p.ctx, order, &broken{100_000, lost})
	require.Equal(t, lost, err, "the source's own error")
	ended, cancel := context.WithCancel(p.ctx)
	cancel()
	_, err = p.Store.Put(ended, order, bytes.NewReader([]byte("x")))
	require.ErrorIs(t, err, context.Canceled)
	_, err = p.Store.Put(p.ctx, eventstore.Stream{Tenant: "acme"}, bytes.NewReader([]byte("x")))
	var invalid *eventstore.InvalidError
	require.ErrorAs(t, err, &invalid)
	require.Zero(t, p.Stored())
	require.NoError(t, p.Store.Release(p.ctx, order))
}

func testCorruptPayload(t *testing.T, p *payloads) {
	content := bytes.Repeat([]byte("0123456789"), 10_000)
	ref := p.put(order, content)
	flipped := bytes.Clone(content)
	flipped[77_777] ^= 1
	for name, bad := range map[string][]byte{
		"a bit": flipped, "shorter": content[:99_999], "empty": {}, "longer": append(bytes.Clone(content), '!'), "much longer": append(bytes.Clone(content), content...),
	} {
		p.Rewrite("acme", ref, bad)
		got, err := p.get("acme", ref)
		var corrupt *eventstore.CorruptPayloadError
		require.ErrorAs(t, err, &corrupt, name)
		require.Equal(t, ref, corrupt.Ref)
		require.LessOrEqual(t, len(got), len(content))
	}
	p.Rewrite("acme", ref, content)
	p.requireThere("acme", ref, content)
}

func testOwners(t *testing.T, p *payloads) {
	child := eventstore.Stream{Tenant: "acme", ID: "order-1/child"}
	shared, own := []byte("shared"), []byte("own")
	sharedRef, ownRef := p.put(order, shared), p.put(order, own)
	require.NoError(t, p.Store.Own(p.ctx, child, sharedRef))
	require.NoError(t, p.Store.Own(p.ctx, child, sharedRef), "once more does no harm")
	for range 2 {
		require.NoError(t, p.Store.Release(p.ctx, order))
	}
	p.requireGone("acme", ownRef)
	p.requireThere("acme", sharedRef, shared)
	require.NoError(t, p.Store.Release(p.ctx, child))
	p.requireGone("acme", sharedRef)
	require.Zero(t, p.Stored())

	require.ErrorIs(t, p.Store.Own(p.ctx, child, sharedRef), eventstore.ErrNotFound)
	require.ErrorIs(t, p.Store.Own(p.ctx, eventstore.Stream{Tenant: "other", ID: "x"}, p.put(order, shared)), eventstore.ErrNotFound, "tenants are apart")
	require.NoError(t, p.Store.Own(p.ctx, child))
	require.Equal(t, 1, p.Stored())
	require.NoError(t, p.Store.Release(p.ctx, eventstore.Stream{Tenant: "acme", ID: "nobody"}))
}

// testOwnersRace lets executions put, read and release the same few contents at once: whoever holds one can read it.
func testOwnersRace(t *testing.T, p *payloads) {
	contents := [][]byte{[]byte("first"), []byte("second"), bytes.Repeat([]byte("third"), 1000)}
	var group sync.WaitGroup
	for i := range 8 {
		owner := eventstore.Stream{Tenant: "acme", ID: fmt.Sprint("order-", i)}
		group.Go(func() {
			for n := range 15 {
				content := contents[(i+n)%len(contents)]
				ref, err := p.Store.Put(p.ctx, owner, bytes.NewReader(content))
				if err != nil {
					t.Errorf("put: %v", err)
					return
				}
				if got, err := p.get("acme", ref); err != nil || !bytes.Equal(got, content) {
					t.Errorf("a payload that %s holds: %v", owner, err)
					return
				}
				if err := p.Store.Release(p.ctx, owner); err != nil {
					t.Errorf("release: %v", err)
					return
				}
			}
		})
	}
	group.Wait()
	require.Zero(t, p.Stored(), "nobody holds anything")
}

// testOwnersModel compares random puts, owns and releases with a set of who holds what.
func testOwnersModel(t *testing.T, p *payloads) {
	round := 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		tenant := fmt.Sprint("tenant-", round)
		holds := map[string]map[string]bool{} // content to owners
		owner := func() eventstore.Stream {
			return eventstore.Stream{Tenant: tenant, ID: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "owner")}
		}
		content := func() string { return rapid.SampledFrom([]string{"", "x", "xy"}).Draw(r, "content") }
		ref := func(c string) eventstore.Ref {
			return eventstore.Ref{Hash: sha256.Sum256([]byte(c)), Size: int64(len(c))}
		}
		r.Repeat(map[string]func(*rapid.T){
			"put": func(r *rapid.T) {
				o, c := owner(), content()
				_, err := p.Store.Put(p.ctx, o, bytes.NewReader([]byte(c)))
				require.NoError(r, err)
				if holds[c] == nil {
					holds[c] = map[string]bool{}
				}
				holds[c][o.ID] = true
			},
			"own": func(r *rapid.T) {
				o, c := owner(), content()
				err := p.Store.Own(p.ctx, o, ref(c))
				if holds[c] == nil {
					require.ErrorIs(r, err, eventstore.ErrNotFound)
					return
				}
				require.NoError(r, err)
				holds[c][o.ID] = true
			},
			"release": func(r *rapid.T) {
				o := owner()
				require.NoError(r, p.Store.Release(p.ctx, o))
				for c, owners := range holds {
					if delete(owners, o.ID); len(owners) == 0 {
						delete(holds, c)
					}
				}
			},
			"": func(r *rapid.T) {
				for _, c := range []string{"", "x", "xy"} {
					got, err := p.get(tenant, ref(c))
					if holds[c] == nil {
						require.ErrorIs(r, err, eventstore.ErrNotFound)
						continue
					}
					require.NoError(r, err)
					require.Equal(r, c, string(got))
				}
			},
		})
	})
}

func testPayloadNames(t *testing.T, p *payloads) {
	content := []byte("content")
	ref := eventstore.Ref{Hash: sha256.Sum256(content), Size: int64(len(content))}
	for _, name := range names {
		p.put(eventstore.Stream{Tenant: name, ID: "order"}, content)
		p.put(eventstore.Stream{Tenant: "acme", ID: name}, content)
	}
	require.Equal(t, len(names)+1, p.Stored())
	for _, name := range names {
		p.requireThere(name, ref, content)
		require.NoError(t, p.Store.Release(p.ctx, eventstore.Stream{Tenant: name, ID: "order"}))
		p.requireGone(name, ref)
		p.requireThere("acme", ref, content)
		require.NoError(t, p.Store.Release(p.ctx, eventstore.Stream{Tenant: "acme", ID: name}))
	}
	p.requireGone("acme", ref)
	require.Zero(t, p.Stored())
}
