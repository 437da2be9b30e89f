package grpccall

import (
	"context"
	"errors"
	"time"
)

// MaxSilence is how long nothing may come from the other side of a call without a timeout, as for REST.
const MaxSilence = 5 * time.Minute

// errSilent ends a call without a timeout of which nothing is heard any more.
var errSilent = errors.New("grpccall: nothing came for too long")

// silence ends a context when nothing came for MaxSilence. A context with a deadline needs none.
type silence struct{ timer *time.Timer }

// watchSilence returns the context of the call; stop ends it.
func watchSilence(ctx context.Context) (watched context.Context, s silence, stop func()) {
	_, has := ctx.Deadline()
	watched, cancel := context.WithCancelCause(ctx)
	if has {
		return watched, s, func() { cancel(nil) }
	}
	s.timer = time.AfterFunc(MaxSilence, func() { cancel(errSilent) })
	return watched, s, func() { s.timer.Stop(); cancel(nil) }
}

// heard begins the time anew.
func (s silence) heard() {
	if s.timer != nil {
		s.timer.Reset(MaxSilence)
	}
}
