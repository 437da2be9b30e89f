package memory

import (
	"cmp"
	"context"
	"strings"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

type claim struct {
	key eventstore.ClaimKey
	eventstore.Claim
}

func compareClaims(a, b claim) int {
	return cmp.Or(compareStreams(a.key.Stream, b.key.Stream), strings.Compare(a.key.Attempt, b.key.Attempt), cmp.Compare(a.key.Fence, b.key.Fence))
}

type notice struct {
	stream eventstore.Stream
	name   string
}

func compareNotices(a, b notice) int {
	return cmp.Or(compareStreams(a.stream, b.stream), strings.Compare(a.name, b.name))
}

// Claim implements eventstore.Claims.
func (s *Store) Claim(ctx context.Context, k eventstore.ClaimKey, c eventstore.Claim) (eventstore.Claim, error) {
	if err := s.enter(ctx, cmp.Or(k.Check(), c.Check())); err != nil {
		return eventstore.Claim{}, err
	}
	defer s.mu.Unlock()
	if stored, ok := s.claims.get(claim{key: k}); ok {
		return stored.Claim, nil
	}
	s.claims.put(claim{k, c})
	return c, nil
}

// Extend implements eventstore.Claims.
func (s *Store) Extend(ctx context.Context, k eventstore.ClaimKey, held eventstore.Claim, until int64) (eventstore.Claim, error) {
	if err := s.enter(ctx, cmp.Or(k.Check(), held.Check())); err != nil {
		return eventstore.Claim{}, err
	}
	defer s.mu.Unlock()
	stored, ok := s.claims.get(claim{key: k})
	if !ok || stored.Owner != held.Owner {
		return eventstore.Claim{}, &eventstore.NotOwnerError{Key: k, Claim: stored.Claim}
	}
	stored.Claim = stored.Extended(until)
	s.claims.put(stored)
	return stored.Claim, nil
}

// ReadClaim implements eventstore.Claims.
func (s *Store) ReadClaim(ctx context.Context, k eventstore.ClaimKey) (eventstore.Claim, error) {
	if err := s.enter(ctx, k.Check()); err != nil {
		return eventstore.Claim{}, err
	}
	defer s.mu.Unlock()
	stored, ok := s.claims.get(claim{key: k})
	if !ok {
		return eventstore.Claim{}, &eventstore.NotFoundError{What: "claim of " + k.String()}
	}
	return stored.Claim, nil
}

// End implements eventstore.Claims.
func (s *Store) End(ctx context.Context, k eventstore.ClaimKey, expires int64) error {
	if err := s.enter(ctx, k.Check()); err != nil {
		return err
	}
	defer s.mu.Unlock()
	stored, _ := s.claims.get(claim{key: k})
	stored.key, stored.Owner, stored.Until, stored.Expires = k, eventstore.Ended, 0, cmp.Or(stored.Expires, expires)
	s.claims.put(stored)
	return nil
}

// Acknowledge implements eventstore.Notices.
func (s *Store) Acknowledge(ctx context.Context, id eventstore.Stream, name string) error {
	if err := s.enter(ctx, eventstore.CheckNotice(id, name)); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.notices.put(notice{id, name})
	return nil
}

// Acknowledged implements eventstore.Notices.
func (s *Store) Acknowledged(ctx context.Context, id eventstore.Stream, name string) (bool, error) {
	if err := s.enter(ctx, eventstore.CheckNotice(id, name)); err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	_, ok := s.notices.seek(notice{id, name})
	return ok, nil
}
