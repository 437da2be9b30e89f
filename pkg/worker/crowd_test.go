package worker

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

const wide = `
name: wide
steps:
  each:
    foreach: { items: '${ range(5) }', as: n, steps: { one: { function: std.echo, with: { n: '${ n }' } } } }
  last: { needs: [each], function: std.echo, with: { n: 9 } }
`

// TestACrowdAnswersToTheInbox: tasks that were sent together hand their results to the inbox, which merges them into one commit; a task without company
// commits its result itself.
func TestACrowdAnswersToTheInbox(t *testing.T) {
	for _, test := range []struct {
		crowd, commits int
	}{
		{0, 0},         // nobody minds company
		{4, 5},         // as many beside each as may be: they commit
		{3, 0}, {1, 0}, // they do not
	} {
		r := newRig(t)
		r.Limits.Crowd = test.crowd
		s := r.begin(r.define(wide), `{}`)
		tasks := r.takeTasks()
		require.Len(t, tasks, 5)
		for _, task := range tasks {
			require.Equal(t, 4, task.Beside)
			require.True(t, r.HandleTask(t.Context(), r.received(task)).Done)
		}
		results := r.takeMessages()
		if test.crowd == 0 || test.crowd >= 4 {
			require.Empty(t, results)
			require.Greater(t, len(r.commits(s)), 5)
			continue
		}
		require.Len(t, results, 5)
		require.Len(t, r.commits(s), 1)
		for _, a := range r.HandleInbox(t.Context(), s, results) {
			require.True(t, a.Done)
		}
		require.Len(t, r.commits(s), 2, "one commit merges them")
		next := r.takeTasks()
		require.Len(t, next, 1)
		require.Zero(t, next[0].Beside)
		require.True(t, r.HandleTask(t.Context(), r.received(next[0])).Done)
		require.Empty(t, r.takeMessages())
		r.ended(s, "completed")
	}
}

// rowsOf counts the commits that came with a row.
type rowsOf struct {
	Store
	rows []*eventstore.Row
}

// Append implements eventstore.Committer.
func (r *rowsOf) Append(ctx context.Context, s eventstore.Stream, c eventstore.Commit, row *eventstore.Row) error {
	r.rows = append(r.rows, row)
	return r.Store.Append(ctx, s, c, row)
}

// TestSparseRows: a row is written when it says something new in lists or to the sweep, and not because an execution has moved. The sweep is never told
// of a later time than the execution's own.
func TestSparseRows(t *testing.T) {
	r := newRig(t)
	r.SparseRows = true
	rows := &rowsOf{Store: r.Store}
	r.Store = rows
	name := r.define("name: rows\nsteps:\n  a: { function: std.echo }\n  b: { needs: [a], function: std.echo }\n  c: { needs: [b], function: std.echo }\n  wait: { needs: [c], event: { type: Go } }\n")
	s := r.begin(name, `{}`)
	r.settle()
	require.Len(t, rows.rows, 4, "a start, two chained steps, the wait")
	require.NotNil(t, rows.rows[0])
	require.Nil(t, rows.rows[1])
	require.Nil(t, rows.rows[2])
	require.Equal(t, waiting, rows.rows[3].Status)
	r.pass(time.Minute)
	require.True(t, r.tell(s, signal("1", "Go")).Done)
	r.settle()
	r.ended(s, "completed")
	last := rows.rows[len(rows.rows)-1]
	require.False(t, last.Open)

	// A worker that has not seen the execution before tells as little, and what the sweep looks at moves on with the time.
	rows.rows = nil
	r.begin(name, `{}`)
	for range 3 {
		tasks := r.takeTasks()
		require.Len(t, tasks, 1)
		fresh := r.another("w2")
		fresh.SparseRows, fresh.Limits.Chain, fresh.Store = true, 1, rows
		r.pass(time.Minute)
		require.True(t, fresh.HandleTask(t.Context(), r.received(tasks[0])).Done)
	}
	require.Len(t, rows.rows, 4)
	for i, row := range rows.rows {
		require.NotNil(t, row, "a minute has passed before commit %d", i)
		if row.Open && row.Status != waiting {
			require.LessOrEqual(t, row.Due, row.Updated+r.flight())
			require.Greater(t, row.Due, row.Updated+r.flight()-dueGrain)
		}
	}
}
