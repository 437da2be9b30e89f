package local

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
)

const (
	// publishPage is how many entries of the feed are taken at a time.
	publishPage = 100
	// publishAgain is the pause before an entry is tried again that could not be passed on.
	publishAgain = 5 * time.Second
	// maxPublish is how often it is tried before it becomes a dead letter.
	maxPublish = 20
)

// publisher passes on what commits hold for others: the feed of the store says which have not been passed on yet, so a kill loses
// nothing (commit protocol, point 14).
type publisher struct {
	feed    eventstore.Feed
	commits eventstore.Committer
	pass    func(ctx context.Context, s eventstore.Stream, c eventstore.Commit) error
	bury    func(ctx context.Context, e eventstore.FeedEntry, cause error) error
	log     *slog.Logger
	// news says that the feed has a new entry.
	news chan struct{}
	// failures counts how often an entry was tried in vain.
	failures map[uint64]int
}

func newPublisher(feed eventstore.Feed, commits eventstore.Committer, log *slog.Logger) *publisher {
	return &publisher{feed: feed, commits: commits, log: log, news: make(chan struct{}, 1), failures: map[uint64]int{}}
}

// wake lets the publisher look at the feed.
func (p *publisher) wake() {
	select {
	case p.news <- struct{}{}:
	default: // it is about to look
	}
}

// run passes on what is in the feed until ctx ends.
func (p *publisher) run(ctx context.Context) {
	for {
		failed, err := p.publish(ctx)
		if err != nil && ctx.Err() == nil {
			p.log.Warn("publishing", "cause", err)
		}
		var again <-chan time.Time
		if failed || err != nil {
			again = time.After(publishAgain)
		}
		select {
		case <-ctx.Done():
			return
		case <-again:
		case <-p.news:
		}
	}
}

// publish goes through the feed once. It reports whether an entry could not be passed on and is to be tried again.
func (p *publisher) publish(ctx context.Context) (failed bool, err error) {
	for after := uint64(0); ; {
		entries, err := p.feed.Unpublished(ctx, after, publishPage)
		if err != nil || len(entries) == 0 {
			return failed, err
		}
		var done []uint64
		for _, e := range entries {
			after = e.Number
			if p.passOn(ctx, e) {
				done = append(done, e.Number)
			} else {
				failed = true
			}
		}
		if err := p.feed.Published(ctx, done...); err != nil {
			return failed, err
		}
	}
}

// passOn passes on one entry, or gives it up after too many tries. It reports whether the entry is done with.
func (p *publisher) passOn(ctx context.Context, e eventstore.FeedEntry) bool {
	c, err := p.commits.ReadCommit(ctx, e.Stream, e.First)
	if errors.Is(err, eventstore.ErrNotFound) {
		return true // removed meanwhile
	}
	if err == nil {
		err = p.pass(ctx, e.Stream, c)
	}
	if err == nil {
		delete(p.failures, e.Number)
		return true
	}
	if !worker.Passing(err) {
		p.failures[e.Number]++
	}
	p.log.Warn("event not passed on", "execution", e.Stream.ID, "version", e.First, "tries", p.failures[e.Number], "cause", err)
	if p.failures[e.Number] < maxPublish || p.bury(ctx, e, err) != nil {
		return false
	}
	delete(p.failures, e.Number)
	return true
}
