package httpcall

import (
	"context"
	"errors"
	"io"
	"time"
)

// errSilent ends a call without a timeout of which nothing is heard any more.
var errSilent = errors.New("httpcall: nothing came for too long")

// silence ends a context when nothing came for MaxSilence. A context with a deadline needs none.
type silence struct {
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

func watchSilence(ctx context.Context) (context.Context, *silence) {
	_, has := ctx.Deadline()
	ctx, cancel := context.WithCancelCause(ctx)
	s := &silence{cancel: cancel}
	if !has {
		s.timer = time.AfterFunc(MaxSilence, func() { cancel(errSilent) })
	}
	return ctx, s
}

// heard begins the time anew.
func (s *silence) heard() {
	if s.timer != nil {
		s.timer.Reset(MaxSilence)
	}
}

// stop ends the context: whoever used it has all that it wanted.
func (s *silence) stop() {
	if s.timer != nil {
		s.timer.Stop()
	}
	s.cancel(nil)
}

// body is that of an answer: reads are signs of life, and failures of reads are typed.
type body struct {
	io.ReadCloser
	quiet *silence
	fail  func(error) error
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.quiet.heard()
	}
	if err != nil && err != io.EOF {
		err = b.fail(err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *body) Close() error {
	defer b.quiet.stop()
	return b.ReadCloser.Close()
}
