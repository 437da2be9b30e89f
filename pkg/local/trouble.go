package local

import (
	"errors"
	"sync"
	"time"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/sqlite"
)

// sayAgain is the pause before trouble that lasts is told again.
const sayAgain = time.Minute

// trouble is what the platform knows of its disk. What waits for the disk is tried again by itself, so nobody would hear of it otherwise.
type trouble struct {
	// tell hears of trouble, now and then while it lasts, and of its end with nil.
	tell func(err error)
	// fatal ends the platform: the store has to be opened again.
	fatal func(err error)

	mu    sync.Mutex
	lasts bool
	told  time.Time
}

// met notes why something could not be done, if it is the disk's fault.
func (t *trouble) met(err error) {
	switch {
	case err == nil:
		return
	case errors.As(err, new(*sqlite.BrokenError)), errors.As(err, new(*sqlite.DamagedError)):
		t.fatal(err)
		return
	case !errors.Is(err, eventstore.ErrUnavailable) && !errors.Is(err, eventstore.ErrUnknownOutcome):
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); !t.lasts || now.Sub(t.told) >= sayAgain {
		t.lasts, t.told = true, now
		t.tell(err)
	}
}

// over notes that a write succeeded.
func (t *trouble) over() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lasts {
		t.lasts = false
		t.tell(nil)
	}
}
