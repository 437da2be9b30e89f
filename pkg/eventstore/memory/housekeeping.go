package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// compareLetters puts the newest letter of a tenant first.
func compareLetters(a, b eventstore.DeadLetter) int {
	return cmp.Or(strings.Compare(a.Tenant, b.Tenant), cmp.Compare(b.At, a.At), strings.Compare(a.ID, b.ID))
}

// letter returns the place of a dead letter.
func (s *Store) letter(tenant, id string) int {
	return slices.IndexFunc(s.letters.items, func(d eventstore.DeadLetter) bool { return d.Tenant == tenant && d.ID == id })
}

// PutDeadLetter implements eventstore.DeadLetters.
func (s *Store) PutDeadLetter(ctx context.Context, d eventstore.DeadLetter) error {
	if err := s.enter(ctx, d.Check()); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if s.letter(d.Tenant, d.ID) < 0 {
		d.Body = bytes.Clone(d.Body)
		s.letters.put(d)
	}
	return nil
}

// DeadLetter implements eventstore.DeadLetters.
func (s *Store) DeadLetter(ctx context.Context, tenant, id string) (eventstore.DeadLetter, error) {
	if err := s.enter(ctx, eventstore.DeadLetter{Tenant: tenant, ID: id}.Check()); err != nil {
		return eventstore.DeadLetter{}, err
	}
	defer s.mu.Unlock()
	i := s.letter(tenant, id)
	if i < 0 {
		return eventstore.DeadLetter{}, &eventstore.NotFoundError{What: "dead letter " + id}
	}
	d := s.letters.items[i]
	d.Body = bytes.Clone(d.Body)
	return d, nil
}

// RemoveDeadLetter implements eventstore.DeadLetters.
func (s *Store) RemoveDeadLetter(ctx context.Context, tenant, id string) error {
	if err := s.enter(ctx, eventstore.DeadLetter{Tenant: tenant, ID: id}.Check()); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if i := s.letter(tenant, id); i >= 0 {
		s.letters.remove(s.letters.items[i])
	}
	return nil
}

// DeadLetters implements eventstore.DeadLetterList.
func (s *Store) DeadLetters(ctx context.Context, tenant string, p eventstore.Page) ([]eventstore.DeadLetter, string, error) {
	limit, wrong := p.Size()
	last := eventstore.DeadLetter{Tenant: tenant, At: eventstore.MaxTime}
	if p.Cursor != "" && wrong == nil {
		at, id, err := eventstore.ParseCursor(p.Cursor, 1)
		wrong = err
		if err == nil {
			last.At, last.ID = at, id[0]
		}
	}
	if err := s.enter(ctx, cmp.Or(eventstore.CheckTenant(tenant), wrong)); err != nil {
		return nil, "", err
	}
	defer s.mu.Unlock()
	rest := s.letters.after(last)
	if end := slices.IndexFunc(rest, func(d eventstore.DeadLetter) bool { return d.Tenant != tenant }); end >= 0 {
		rest = rest[:end]
	}
	page, more := pageOf(rest, limit, func(d eventstore.DeadLetter) int { return len(d.Body) })
	page = slices.Clone(page)
	for i := range page {
		page[i].Body = bytes.Clone(page[i].Body)
	}
	if !more {
		return page, "", nil
	}
	return page, eventstore.NewCursor(page[len(page)-1].At, page[len(page)-1].ID), nil
}

// Purge implements eventstore.Housekeeping.
func (s *Store) Purge(ctx context.Context, id eventstore.Stream) error {
	if err := s.enter(ctx, id.Check()); err != nil {
		return err
	}
	defer s.mu.Unlock()
	delete(s.streams, id)
	s.claims.items = slices.DeleteFunc(s.claims.items, func(c claim) bool { return c.key.Stream == id })
	s.notices.items = slices.DeleteFunc(s.notices.items, func(n notice) bool { return n.stream == id })
	s.feed = slices.DeleteFunc(s.feed, func(e eventstore.FeedEntry) bool { return e.Stream == id })
	s.dropRow(s.row(id))
	return nil
}

// Expire implements eventstore.Housekeeping.
func (s *Store) Expire(ctx context.Context, now int64, budget int) (int, error) {
	if err := s.enter(ctx, nil); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	removed := 0
	over := func(expires int64) bool {
		if expires == 0 || expires > now || removed >= budget {
			return false
		}
		removed++
		return true
	}
	s.claims.items = slices.DeleteFunc(s.claims.items, func(c claim) bool { return over(c.Expires) })
	s.subscribers.items = slices.DeleteFunc(s.subscribers.items, func(x eventstore.Subscription) bool { return over(x.Expires) })
	s.letters.items = slices.DeleteFunc(s.letters.items, func(d eventstore.DeadLetter) bool { return over(d.Expires) })
	// The newest event of a topic stays, since its number must not come again.
	var kept []event
	for i, e := range s.events.items {
		newest := i+1 == len(s.events.items) || s.events.items[i+1].topic != e.topic
		if newest || !over(e.Expires) {
			kept = append(kept, e)
		}
	}
	s.events.items = kept
	return removed, nil
}
