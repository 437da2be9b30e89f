package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	_ "modernc.org/sqlite" // the driver

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Query is a kind of activity of our own: it runs one statement on a database and answers with the rows.
type Query struct{ DB *sql.DB }

// Kind is what a program registers: a name, what the kind takes and gives, and how it works. Workers check both schemas.
func (q Query) Kind() activity.Kind {
	return activity.Kind{
		Name: "sql.query",
		Input: workflow.Value(`{"type": "object", "required": ["sql"], "additionalProperties": false,
			"properties": {"sql": {"type": "string"}, "args": {"type": "object"}}}`),
		Output:   workflow.Value(`{"type": "object", "required": ["rows"], "properties": {"rows": {"type": "array"}}}`),
		Activity: q,
	}
}

// Run implements activity.Activity. It is called once for each attempt, by many goroutines at once.
func (q Query) Run(ctx context.Context, t *activity.Task) (activity.Result, error) {
	var in struct {
		SQL  string         `json:"sql"`
		Args map[string]any `json:"args"`
	}
	if err := t.With.Decode(ctx, &in); err != nil {
		return activity.Result{}, err // it is typed already: activity.input
	}
	// A statement that may be run twice, for a machine can die after it and before its result is stored, can name the key that
	// is the same for each run of this step: INSERT … VALUES (:key, …) ON CONFLICT DO NOTHING.
	args := []any{sql.Named("key", t.IdempotencyKey)}
	for name, v := range in.Args { // order-free: arguments have names
		args = append(args, sql.Named(name, v))
	}
	t.Logger().Debug("query", "sql", in.SQL)
	// The database hears when the attempt is cancelled or its deadline passes.
	rows, err := q.DB.QueryContext(ctx, in.SQL, args...)
	if err != nil {
		return activity.Result{}, failed(ctx, err)
	}
	defer rows.Close()
	return collect(ctx, rows, t)
}

// collect reads rows, and no more of them than the output may have.
func collect(ctx context.Context, rows *sql.Rows, t *activity.Task) (activity.Result, error) {
	columns, err := rows.Columns()
	if err != nil {
		return activity.Result{}, failed(ctx, err)
	}
	limit := min(t.OutputLimit(), activity.MaxInline)
	out := []byte(`{"rows":[`)
	for n := 0; rows.Next(); n++ {
		cells, to := make([]any, len(columns)), make([]any, len(columns))
		for i := range cells {
			to[i] = &cells[i]
		}
		if err := rows.Scan(to...); err != nil {
			return activity.Result{}, failed(ctx, err)
		}
		row := map[string]any{}
		for i, name := range columns {
			row[name] = cells[i]
		}
		text, err := json.Marshal(row)
		if err != nil {
			return activity.Result{}, activity.NewError(activity.CodeOutput, "row %d is not JSON: %v", n+1, err)
		}
		if n > 0 {
			out = append(out, ',')
		}
		if out = append(out, text...); int64(len(out)) > limit {
			return activity.Result{}, activity.TooLarge(limit)
		}
	}
	if err := rows.Err(); err != nil {
		return activity.Result{}, failed(ctx, err)
	}
	return activity.Result{Output: append(out, "]}"...)}, nil
}

// failed makes an error that workflows can tell apart: `on_error: [{ match: error.code == "sql.statement", … }]`.
func failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err() // becomes timeout.activity or cancelled
	}
	if errors.Is(err, sql.ErrConnDone) {
		return activity.Unavailable("sql.connection", "%v", err) // retried
	}
	return activity.NewError("sql.statement", "%s", fmt.Sprint(err))
}
