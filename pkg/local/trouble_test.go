package local

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/sqlite"
	"github.com/wovyr/wovyr/pkg/worker"
)

// TestTroubleIsToldOnce and its end too, however many wait for the disk.
func TestTroubleIsToldOnce(t *testing.T) {
	var told []error
	d := trouble{tell: func(err error) { told = append(told, err) }, fatal: func(err error) { t.Errorf("fatal: %v", err) }}
	full := fmt.Errorf("worker: %w", &eventstore.UnavailableError{Op: "write", Err: &sqlite.DiskFullError{File: "f", Err: errors.New("full")}})
	unknown := &eventstore.UnknownOutcomeError{Op: "write", Tries: 1, Err: errors.New("full")}
	d.over()
	for range 3 {
		d.met(nil)
		d.met(worker.ErrContended) // nobody's fault
		d.met(full)
		d.met(unknown)
		d.over()
		d.over()
	}
	require.Equal(t, []error{full, nil, full, nil, full, nil}, told)
	d.met(full)
	d.told = d.told.Add(-sayAgain)
	d.met(unknown)
	require.Equal(t, []error{full, unknown}, told[6:])
}

// TestABrokenStoreEndsThePlatform: what can never work again until the store is opened anew is not tried for ever.
func TestABrokenStoreEndsThePlatform(t *testing.T) {
	for _, why := range []error{
		&eventstore.UnavailableError{Op: "write", Err: &sqlite.BrokenError{File: "f", Err: errors.New("fsync")}},
		&sqlite.DamagedError{File: "f", Err: errors.New("malformed")},
	} {
		p, err := Open(t.TempDir(), Options{Trouble: func(err error) { t.Errorf("told: %v", err) }})
		require.NoError(t, err)
		handle := p.inbox.handle
		p.inbox.handle = func(ctx context.Context, s eventstore.Stream, messages []worker.Message) []worker.Answer {
			handle(ctx, s, messages)
			p.trouble.met(why)
			return []worker.Answer{{Err: why}}
		}
		require.NoError(t, p.inbox.Send(t.Context(), worker.Message{ID: "m", Stream: eventstore.Stream{Tenant: "local", ID: "x"}}))
		require.ErrorIs(t, p.Run(context.Background(), time.Hour), why)
	}
}
