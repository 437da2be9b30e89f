package storetest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

func key(attempt string, fence uint64) eventstore.ClaimKey {
	return eventstore.ClaimKey{Stream: order, Attempt: attempt, Fence: fence}
}

func testClaims(t *testing.T, s *suite) {
	k := key("charge/1", 1)
	_, err := s.Store.ReadClaim(s.ctx, k)
	require.ErrorIs(t, err, eventstore.ErrNotFound)
	mine := eventstore.Claim{Owner: "receive-1", Worker: "worker-1", Started: 10, Until: 40, Limit: 100, Expires: 1000}
	got, err := s.Store.Claim(s.ctx, k, mine)
	require.NoError(t, err)
	require.Equal(t, mine, got)
	got, err = s.Store.Claim(s.ctx, k, mine)
	require.NoError(t, err)
	require.Equal(t, mine, got, "a repeat is the caller's own")
	got, err = s.Store.Claim(s.ctx, k, eventstore.Claim{Owner: "receive-2", Until: 90})
	require.NoError(t, err)
	require.Equal(t, mine, got, "another owner is told whose it is, even after the lease")
	for _, apart := range []eventstore.ClaimKey{
		key("charge/1", 2), key("charge/2", 1), key("charge", 1), key("ship/1", 1),
		{Stream: eventstore.Stream{Tenant: "acme", ID: "order-2"}, Attempt: "charge/1", Fence: 1},
	} {
		theirs := eventstore.Claim{Owner: "receive-3", Until: 5}
		got, err := s.Store.Claim(s.ctx, apart, theirs)
		require.NoError(t, err)
		require.Equal(t, theirs, got, "%s is another attempt", apart)
	}
	got, err = s.Store.ReadClaim(s.ctx, k)
	require.NoError(t, err)
	require.Equal(t, mine, got)
	require.True(t, got.Live(39))
	require.False(t, got.Live(40))
	head, err := s.Store.Head(s.ctx, order)
	require.NoError(t, err)
	require.Zero(t, head, "a claim does not touch the history")
}

func testExtend(t *testing.T, s *suite) {
	k := key("charge/1", 1)
	held := eventstore.Claim{Owner: "receive-1", Until: 40, Limit: 100}
	_, err := s.Store.Extend(s.ctx, k, held, 50)
	var notOwner *eventstore.NotOwnerError
	require.ErrorAs(t, err, &notOwner)
	require.Equal(t, eventstore.NotOwnerError{Key: k}, *notOwner)
	held, err = s.Store.Claim(s.ctx, k, held)
	require.NoError(t, err)
	for _, step := range []struct{ until, want int64 }{{60, 60}, {60, 60}, {50, 60}, {100, 100}, {500, 100}} {
		held, err = s.Store.Extend(s.ctx, k, held, step.until)
		require.NoError(t, err)
		require.Equal(t, step.want, held.Until, "until %d", step.until)
		stored, err := s.Store.ReadClaim(s.ctx, k)
		require.NoError(t, err)
		require.Equal(t, held, stored)
	}
	_, err = s.Store.Extend(s.ctx, k, eventstore.Claim{Owner: "receive-2"}, 70)
	require.ErrorAs(t, err, &notOwner)
	require.Equal(t, held, notOwner.Claim)

	free := key("free/1", 1)
	unlimited, err := s.Store.Claim(s.ctx, free, eventstore.Claim{Owner: "receive-1", Until: 40})
	require.NoError(t, err)
	unlimited, err = s.Store.Extend(s.ctx, free, unlimited, eventstore.MaxTime)
	require.NoError(t, err)
	require.EqualValues(t, eventstore.MaxTime, unlimited.Until)
}

func testRevoke(t *testing.T, s *suite) {
	k := key("charge/1", 1)
	stands, err := eventstore.Revoke(s.ctx, s.Store, k, "worker-1", 10, 1000)
	require.NoError(t, err)
	require.True(t, stands.Revoked())
	require.False(t, stands.Live(0))
	got, err := s.Store.Claim(s.ctx, k, eventstore.Claim{Owner: "receive-1", Until: 40})
	require.NoError(t, err)
	require.True(t, got.Revoked(), "nobody runs a revoked attempt")
	again, err := eventstore.Revoke(s.ctx, s.Store, k, "worker-2", 20, 2000)
	require.NoError(t, err)
	require.Equal(t, stands, again)
	var notOwner *eventstore.NotOwnerError
	_, err = s.Store.Extend(s.ctx, k, eventstore.Claim{Owner: "receive-1"}, 50)
	require.ErrorAs(t, err, &notOwner)

	running := key("ship/1", 1)
	theirs, err := s.Store.Claim(s.ctx, running, eventstore.Claim{Owner: "receive-1", Worker: "worker-3", Until: 40})
	require.NoError(t, err)
	stands, err = eventstore.Revoke(s.ctx, s.Store, running, "worker-1", 10, 1000)
	require.NoError(t, err)
	require.Equal(t, theirs, stands, "a claimed attempt counts as started")
}

func testEnd(t *testing.T, s *suite) {
	k := key("charge/1", 1)
	mine, err := s.Store.Claim(s.ctx, k, eventstore.Claim{Owner: "receive-1", Worker: "worker-1", Started: 10, Until: 40, Limit: 100, Expires: 1000})
	require.NoError(t, err)
	over := mine
	over.Owner, over.Until = eventstore.Ended, 0 // who ran it, since when, until when it is kept: all that stays
	for range 2 {                                // twice is harmless
		require.NoError(t, s.Store.End(s.ctx, k, 2000))
		got, err := s.Store.ReadClaim(s.ctx, k)
		require.NoError(t, err)
		require.Equal(t, over, got)
		require.True(t, got.Ended())
		require.False(t, got.Live(0))
	}
	_, err = s.Store.Extend(s.ctx, k, mine, 50)
	var notOwner *eventstore.NotOwnerError
	require.ErrorAs(t, err, &notOwner)
	require.Equal(t, over, notOwner.Claim, "whoever held it hears of it")

	never := key("ship/1", 1)
	require.NoError(t, s.Store.End(s.ctx, never, 2000))
	got, err := s.Store.Claim(s.ctx, never, eventstore.Claim{Owner: "receive-2", Until: 40})
	require.NoError(t, err)
	require.Equal(t, eventstore.Claim{Owner: eventstore.Ended, Expires: 2000}, got, "nobody runs an attempt that is over")

	other := key("charge/1", 2)
	got, err = s.Store.Claim(s.ctx, other, eventstore.Claim{Owner: "receive-3", Until: 40})
	require.NoError(t, err)
	require.Equal(t, "receive-3", got.Owner, "the attempt under the next fence is another one")
}

func testClaimRace(t *testing.T, s *suite) {
	const owners, rounds = 16, 20
	for round := range rounds {
		k := key("charge/1", uint64(round))
		stands := make([]eventstore.Claim, owners)
		var group sync.WaitGroup
		start := make(chan struct{})
		for i := range owners {
			group.Go(func() {
				<-start
				var err error
				if i == 0 {
					stands[i], err = eventstore.Revoke(s.ctx, s.Store, k, "canceller", 1, 2)
				} else {
					stands[i], err = s.Store.Claim(s.ctx, k, eventstore.Claim{Owner: fmt.Sprint("receive-", i), Until: 50})
				}
				if err != nil {
					t.Errorf("claim: %v", err)
				}
			})
		}
		close(start)
		group.Wait()
		stored, err := s.Store.ReadClaim(s.ctx, k)
		require.NoError(t, err)
		for _, c := range stands {
			require.Equal(t, stored, c, "all are told of the same claim")
		}
	}
}

func testNotices(t *testing.T, s *suite) {
	got, err := s.Store.Acknowledged(s.ctx, order, "parent")
	require.NoError(t, err)
	require.False(t, got)
	for range 2 {
		require.NoError(t, s.Store.Acknowledge(s.ctx, order, "parent"))
		got, err = s.Store.Acknowledged(s.ctx, order, "parent")
		require.NoError(t, err)
		require.True(t, got)
	}
	got, err = s.Store.Acknowledged(s.ctx, order, "successor")
	require.NoError(t, err)
	require.False(t, got)
	got, err = s.Store.Acknowledged(s.ctx, eventstore.Stream{Tenant: "acme", ID: "order-2"}, "parent")
	require.NoError(t, err)
	require.False(t, got)
}
