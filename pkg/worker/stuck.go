package worker

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// Stuck returns a page of the executions of a tenant that do not move although the sweep repaired them as often as Limits.Repairs, and the cursor
// of the next page, empty at the end. A page looks at a bounded number of rows, so it may be short, even empty, with more to come.
func (w *Worker) Stuck(ctx context.Context, tenant string, p eventstore.Page) (rows []eventstore.Row, next string, err error) {
	limit, err := p.Size()
	if err != nil {
		return nil, "", err
	}
	shard, cursor, err := parseStuck(p.Cursor)
	if err != nil {
		return nil, "", err
	}
	// The sweep never puts off an execution that it repairs for longer than maxBackoff.
	until := w.Clock.Now() + int64(maxBackoff) + int64(w.Limits.Dispatch)
	for examined := 0; shard < eventstore.Shards; {
		page, more, err := w.Store.Overdue(ctx, shard, until, eventstore.Page{Limit: limit, Cursor: cursor})
		if err != nil {
			return nil, "", fmt.Errorf("worker: stuck executions of shard %d: %w", shard, err)
		}
		for _, row := range page {
			if row.Stream.Tenant == tenant && row.Repairs >= w.Limits.Repairs {
				rows = append(rows, row)
			}
		}
		if cursor = more; cursor == "" {
			shard++
		}
		if examined += len(page); shard < eventstore.Shards && (len(rows) > 0 || examined >= eventstore.MaxExamined) {
			return rows, strconv.Itoa(shard) + "." + cursor, nil
		}
	}
	return rows, "", nil
}

// parseStuck reads the cursor of Stuck: a shard, and a place in it.
func parseStuck(cursor string) (shard int, rest string, err error) {
	if cursor == "" {
		return 0, "", nil
	}
	number, rest, ok := strings.Cut(cursor, ".")
	if shard, err = strconv.Atoi(number); err != nil || !ok || shard < 0 || shard >= eventstore.Shards {
		return 0, "", &eventstore.InvalidError{Field: "cursor", Reason: "it is none of this list"}
	}
	return shard, rest, nil
}
