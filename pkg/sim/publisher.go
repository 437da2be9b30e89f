package sim

import (
	"errors"
	"time"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// publishEvery is the pause between two looks at the feed.
const publishEvery = 3 * time.Second

// publishFeed passes on what commits hold for others, as a publisher would: two of them may be at it at once, and any of them may die.
func (w *world) publishFeed() {
	w.orchestrator().start(func(r *routine) {
		feed := store{w.store, w}
		entries, err := feed.Unpublished(background(), 0, eventstore.MaxPage)
		if err != nil {
			return
		}
		for _, e := range entries {
			c, err := feed.ReadCommit(background(), e.Stream, e.First)
			switch {
			case errors.Is(err, eventstore.ErrNotFound):
				err = nil // removed meanwhile
			case err == nil:
				err = r.p.worker.Emit(background(), e.Stream, c)
			}
			if err != nil || feed.Published(background(), e.Number) != nil {
				return
			}
		}
	}, func() {})
	w.in(publishEvery, w.publishFeed)
}
