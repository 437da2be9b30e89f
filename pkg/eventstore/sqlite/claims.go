package sqlite

import (
	"cmp"
	"context"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

const selectClaim = `SELECT owner, worker, started, until, ceiling, expires FROM claims WHERE attempt=? AND fence=? AND stream=`

func readClaim(r row) eventstore.Claim {
	return eventstore.Claim{Owner: r.text(0), Worker: r.text(1), Started: r.int(2), Until: r.int(3), Limit: r.int(4), Expires: r.int(5)}
}

// claim returns the claim of an attempt of a stream, and whether there is one.
func (w *writer) claim(stream int64, k eventstore.ClaimKey) (c eventstore.Claim, found bool, err error) {
	found, err = w.conn.one(selectClaim+`?`, func(r row) error { c = readClaim(r); return nil }, k.Attempt, k.Fence, stream)
	return c, found, err
}

// Claim implements eventstore.Claims.
func (s *Store) Claim(ctx context.Context, k eventstore.ClaimKey, c eventstore.Claim) (stands eventstore.Claim, err error) {
	err = s.write(ctx, cmp.Or(k.Check(), c.Check()), 0, func(w *writer) error {
		st, err := w.ensure(k.Stream)
		if err != nil {
			return err
		}
		stored, found, err := w.claim(st.id, k)
		if stands = stored; found || err != nil {
			return err
		}
		stands = c
		_, err = w.conn.exec(`INSERT INTO claims(stream, attempt, fence, owner, worker, started, until, ceiling, expires) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			st.id, k.Attempt, k.Fence, c.Owner, c.Worker, c.Started, c.Until, c.Limit, c.Expires)
		return err
	})
	if err != nil {
		return eventstore.Claim{}, err
	}
	return stands, nil
}

// Extend implements eventstore.Claims.
func (s *Store) Extend(ctx context.Context, k eventstore.ClaimKey, held eventstore.Claim, until int64) (stands eventstore.Claim, err error) {
	err = s.write(ctx, cmp.Or(k.Check(), held.Check()), 0, func(w *writer) error {
		st, err := w.stream(k.Stream)
		if err != nil {
			return err
		}
		var stored eventstore.Claim
		if st != nil {
			if stored, _, err = w.claim(st.id, k); err != nil {
				return err
			}
		}
		if stored.Owner == "" || stored.Owner != held.Owner {
			return &eventstore.NotOwnerError{Key: k, Claim: stored}
		}
		stands = stored.Extended(until)
		_, err = w.conn.exec(`UPDATE claims SET until=? WHERE stream=? AND attempt=? AND fence=?`, stands.Until, st.id, k.Attempt, k.Fence)
		return err
	})
	if err != nil {
		return eventstore.Claim{}, err
	}
	return stands, nil
}

// ReadClaim implements eventstore.Claims.
func (s *Store) ReadClaim(ctx context.Context, k eventstore.ClaimKey) (c eventstore.Claim, err error) {
	err = s.read(ctx, k.Check(), func(r *conn) error {
		found, err := r.one(selectClaim+`(SELECT id FROM streams WHERE tenant=? AND name=?)`, func(r row) error { c = readClaim(r); return nil },
			k.Attempt, k.Fence, k.Stream.Tenant, k.Stream.ID)
		if err == nil && !found {
			err = &eventstore.NotFoundError{What: "claim of " + k.String()}
		}
		return err
	})
	return c, err
}

// End implements eventstore.Claims.
func (s *Store) End(ctx context.Context, k eventstore.ClaimKey, expires int64) error {
	return s.write(ctx, k.Check(), 0, func(w *writer) error {
		st, err := w.ensure(k.Stream)
		if err != nil {
			return err
		}
		stored, found, err := w.claim(st.id, k)
		switch {
		case err != nil:
			return err
		case found:
			_, err = w.conn.exec(`UPDATE claims SET owner=?, until=0, expires=? WHERE stream=? AND attempt=? AND fence=?`,
				eventstore.Ended, cmp.Or(stored.Expires, expires), st.id, k.Attempt, k.Fence)
		default:
			_, err = w.conn.exec(`INSERT INTO claims(stream, attempt, fence, owner, worker, started, until, ceiling, expires) VALUES(?, ?, ?, ?, '', 0, 0, 0, ?)`,
				st.id, k.Attempt, k.Fence, eventstore.Ended, expires)
		}
		return err
	})
}

// Acknowledge implements eventstore.Notices.
func (s *Store) Acknowledge(ctx context.Context, id eventstore.Stream, notice string) error {
	return s.write(ctx, eventstore.CheckNotice(id, notice), 0, func(w *writer) error {
		st, err := w.ensure(id)
		if err != nil {
			return err
		}
		_, err = w.conn.exec(`INSERT INTO notices(stream, name) VALUES(?, ?) ON CONFLICT DO NOTHING`, st.id, notice)
		return err
	})
}

// Acknowledged implements eventstore.Notices.
func (s *Store) Acknowledged(ctx context.Context, id eventstore.Stream, notice string) (found bool, err error) {
	err = s.read(ctx, eventstore.CheckNotice(id, notice), func(c *conn) error {
		found, err = c.one(`SELECT 1 FROM notices WHERE stream=(SELECT id FROM streams WHERE tenant=? AND name=?) AND name=?`,
			func(row) error { return nil }, id.Tenant, id.ID, notice)
		return err
	})
	return found, err
}
