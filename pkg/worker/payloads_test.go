package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/folder"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// TestALargeResultPassesByReference: 100 MB go from step to step, are read in part and as a whole, and are neither in the history nor in the memory of the worker;
// they go with their execution (commit protocol, point 10).
func TestALargeResultPassesByReference(t *testing.T) {
	const size = 100 << 20
	row := strings.Repeat("0123456789abcdef", 512)
	n := size / len(row)
	look := func() {}
	make := activity.Func("make", func(context.Context, struct{}) (io.ReadCloser, error) {
		source := &endless{head: `{"rows":[{"id":0}`, body: fmt.Sprintf(`,{"id":1234,"text":%q}`, row), tail: fmt.Sprintf(`],"name":"large","text":%q}`, row), n: n}
		return io.NopCloser(&watched{Reader: source, look: func() { look() }}), nil
	})
	weigh := activity.Func("weigh", func(ctx context.Context, in activity.Document) (int64, error) {
		w := &weight{look: func() { look() }}
		err := in.WriteText(ctx, w)
		return w.n, err
	})
	back := activity.Func("pass", func(ctx context.Context, in activity.Document) (io.ReadCloser, error) {
		read, write := io.Pipe()
		go func() { write.CloseWithError(in.WriteText(ctx, write)) }()
		return read, nil
	})
	data := t.TempDir()
	store, err := folder.Open(data, folder.Options{})
	require.NoError(t, err)
	r := newRig(t, make, weigh, back)
	r.Payloads = store
	name := r.define(`
name: large
steps:
  make:  { function: make }
  small: { function: std.echo, with: { name: '${ steps.make.output.name }', rows: '${ steps.make.output.rows.size() }', id: '${ steps.make.output.rows[7].id }' } }
  whole: { function: weigh, with: '${ steps.make.output }' }
  rows:  { function: weigh, with: { rows: '${ steps.make.output.rows }', and: 1 } }
  text:  { function: weigh, with: '${ steps.make.output.rows[3].text }' }
  again: { function: pass, with: { inner: '${ steps.make.output }' } }
  w:     { needs: [ again ], event: { type: Go } }
  last:  { needs: [ w ], function: weigh, with: '${ steps.again.output.inner.rows }' }
output: '${ { "small": steps.small.output, "whole": steps.whole.output, "rows": steps.rows.output, "text": steps.text.output, "last": steps.last.output } }'`)
	var s eventstore.Stream
	most := heapGrowth(func(l func()) {
		look = l
		s = r.begin(name, `{}`)
		r.settle()
		r.Worker = r.another("w2") // which has nothing in memory
		r.Payloads = store
		require.True(t, r.tell(s, signal("1", "Go")).Done)
		r.settle()
	})
	t.Logf("100 MB passed six times, the heap grew by %.1f MB at most", float64(most)/(1<<20))
	require.Less(t, most, int64(48<<20))

	var out struct {
		Small struct {
			Name     string
			Rows, ID int
		}
		Whole, Rows, Text, Last int64
	}
	require.NoError(t, json.Unmarshal(r.ended(s, "completed").Output.JSON, &out))
	require.Equal(t, "large", out.Small.Name)
	require.Equal(t, []int{n + 1, 1234}, []int{out.Small.Rows, out.Small.ID})
	require.Greater(t, out.Whole, int64(size))
	require.Equal(t, out.Whole-int64(len(`{"rows":`)+len(fmt.Sprintf(`,"name":"large","text":%q}`, row))), out.Last)
	require.Equal(t, out.Last+int64(len(`{"and":1,"rows":}`)), out.Rows)
	require.Equal(t, int64(len(row)+2), out.Text)

	history := 0
	for _, c := range r.commits(s) {
		history += len(c.Data)
		require.LessOrEqual(t, len(c.Data), 8<<10)
	}
	require.Less(t, history, 64<<10)
	require.Greater(t, onDisk(t, data), int64(2*size))

	// It is kept as long as its execution is, and not longer.
	row2 := r.row(s)
	row2.Revision++
	row2.Purge = r.now
	_, err = r.store.PutRow(t.Context(), row2)
	require.NoError(t, err)
	purged := 0
	for shard := range eventstore.Shards {
		n, err := r.Purge(t.Context(), shard, r.now)
		require.NoError(t, err)
		purged += n
	}
	require.Equal(t, 1, purged)
	require.Zero(t, onDisk(t, data))
}

// weight counts what is written.
type weight struct {
	n, seen int64
	look    func()
}

func (w *weight) Write(p []byte) (int, error) {
	w.n += int64(len(p))
	if w.n-w.seen > 4<<20 {
		w.seen = w.n
		w.look()
	}
	return len(p), nil
}

// onDisk is how many bytes the payloads in a folder have. Notes about who holds what are small, and go too.
func onDisk(t *testing.T, dir string) (n int64) {
	require.NoError(t, filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Size() > 4096 {
			n += info.Size()
		}
		if os.IsNotExist(err) {
			err = nil
		}
		return err
	}))
	return n
}

// bigOutputs are functions that return so many bytes in a field, at once or as a stream.
func bigOutputs() []activity.Function {
	type in struct{ N int }
	text := func(n int) []byte {
		return fmt.Appendf(nil, `{"big":%q,"list":[%s1],"small":7}`, strings.Repeat("x", n), strings.Repeat("1,", n/8))
	}
	return []activity.Function{
		activity.Func("once", func(_ context.Context, in in) (json.RawMessage, error) { return text(in.N), nil }),
		activity.Func("stream", func(_ context.Context, in in) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(text(in.N))), nil
		}),
	}
}

// TestReadingTooMuchIsAnErrorToCatch: expressions can read 32 KB of a result that is kept by reference; more is payload.too_large, which a workflow can catch
// like any other error. What is only handed on has no such limit, and neither has what is small enough to stand in the history.
func TestReadingTooMuchIsAnErrorToCatch(t *testing.T) {
	for _, f := range []string{"once", "stream"} {
		for n, want := range map[int]string{100: `{"n":100}`, 31_000: `"payload.too_large"`, 33_000: `"payload.too_large"`, 9_000_000: `"payload.too_large"`} { // order-free
			t.Run(fmt.Sprintf("%s %d", f, n), func(t *testing.T) {
				r := newRig(t, bigOutputs()...)
				if n == 31_000 { // larger than what is kept inline, and still within what can be read
					want = fmt.Sprintf(`{"n":%d}`, n)
				}
				s := r.begin(r.define(fmt.Sprintf(`
name: reads
steps:
  big:  { function: %s, with: { N: %d }, on_error: [ { match: error.code == "payload.too_large", continue: { code: '${ error.code }' } } ] }
  read: { when: steps.big.status == "completed", function: std.echo, with: { n: '${ steps.big.output.big.replace("x", "y").size() }' } }
  pass: { when: steps.big.status == "completed", function: std.echo, with: { all: '${ steps.big.output }', list: '${ steps.big.output.list }' } }
output: '${ steps.big.status == "completed" ? steps.read.output : steps.big.output.code }'`, f, n)), `{}`)
				r.settle()
				require.Equal(t, want, r.ended(s, "completed").Output.JSON.String())
				for _, c := range r.commits(s) {
					require.LessOrEqual(t, len(c.Data), 150_000)
				}
			})
		}
	}
}

// TestALargeInput: a start with a large input keeps it by reference from its first commit on, and reads what its expressions name.
func TestALargeInput(t *testing.T) {
	r := newRig(t)
	name := r.define("name: takes\nsteps:\n  a: { function: std.echo, with: { id: '${ input.id }', n: '${ input.rows.size() }' } }")
	input := `{"id":17,"rows":[` + strings.Repeat(`"a row of some length",`, 50_000) + `0]}`
	s := r.begin(name, input)
	r.settle()
	require.Equal(t, `{"a":{"id":17,"n":50001}}`, r.ended(s, "completed").Output.JSON.String())
	for _, c := range r.commits(s) {
		require.Less(t, len(c.Data), 4096)
	}
	require.Equal(t, 1, r.payloads.Stored())
	again, err := r.Text(t.Context(), tenant, r.see(s).Input, 1<<30)
	require.NoError(t, err)
	require.Equal(t, input, string(again))
	_, err = r.Text(t.Context(), tenant, r.see(s).Input, 1000)
	require.ErrorIs(t, err, ErrTooMuch)
	require.NoError(t, r.payloads.Release(t.Context(), s))
	require.Zero(t, r.payloads.Stored())
}

// TestPayloadsOfOthersAreHeld: what a child got or gave is held by both, whichever of them goes first.
func TestPayloadsOfOthersAreHeld(t *testing.T) {
	r := newRig(t, bigOutputs()...)
	r.define("name: kid\nsteps:\n  a: { function: stream, with: { N: 50000 } }\noutput: '${ steps.a.output }'")
	s := r.begin(r.define("name: parent\nsteps:\n  k: { workflow: { name: kid } }\n  w: { needs: [ k ], event: { type: Go } }\n  p: { needs: [ w ], function: std.echo, with: { small: '${ steps.k.output.small }' } }\noutput: '${ steps.k.output }'"), `{}`)
	r.settle()
	require.Equal(t, 1, r.payloads.Stored())
	rows, _, err := r.store.List(t.Context(), tenant, eventstore.Filter{Workflow: "kid"}, eventstore.Page{})
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.NoError(t, r.payloads.Release(t.Context(), rows[0].Stream))
	require.Equal(t, 1, r.payloads.Stored(), "the parent holds it")
	require.True(t, r.tell(s, workflow.ExternalEvent{EarlyEvent: workflow.EarlyEvent{ID: "1", Kind: "Go"}}).Done)
	r.settle()
	text, err := r.Text(t.Context(), tenant, r.ended(s, "completed").Output, 1<<30)
	require.NoError(t, err)
	require.Contains(t, string(text), `"small":7`)
	require.NoError(t, r.payloads.Release(t.Context(), s))
	require.Zero(t, r.payloads.Stored())
}

// TestRetention: an execution is removed when its time is over, with its payloads, unless somebody may still need it.
func TestRetention(t *testing.T) {
	r := newRig(t, bigOutputs()...)
	r.Limits.Retention = 24 * time.Hour
	r.define("name: kid\nsteps:\n  a: { function: stream, with: { N: 50000 } }")
	parent := r.begin(r.define("name: parent\nsteps:\n  k: { workflow: { name: kid } }\n  w: { needs: [ k ], event: { type: Go } }"), `{}`)
	r.settle()
	purge := func() (n int) {
		for shard := range eventstore.Shards {
			removed, err := r.Purge(t.Context(), shard, r.now)
			require.NoError(t, err)
			n += removed
		}
		return n
	}
	require.Zero(t, purge())
	r.sweepAllDue() // which finds that the parent has heard of the child's end
	r.pass(25 * time.Hour)
	require.Zero(t, purge(), "the child's parent is open, and may want to undo its work")
	require.True(t, r.tell(parent, signal("1", "Go")).Done)
	r.settle()
	r.ended(parent, "completed")
	r.pass(25 * time.Hour)
	require.Equal(t, 2, purge())
	require.Zero(t, r.payloads.Stored())
	_, err := r.Inspect(t.Context(), parent)
	require.ErrorIs(t, err, ErrNoExecution)
	require.Equal(t, done(), r.tell(parent, workflow.Tick{}), "late messages are nothing to worry about")
}
