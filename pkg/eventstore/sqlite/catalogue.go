package sqlite

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// PutDefinition implements eventstore.Definitions.
func (s *Store) PutDefinition(ctx context.Context, d eventstore.Definition) error {
	return s.write(ctx, d.Check(), len(d.Bytes), func(w *writer) error {
		var hash eventstore.Hash
		found, err := w.conn.one(`SELECT hash FROM definitions WHERE tenant=? AND workflow=? AND version=?`,
			func(r row) error { copy(hash[:], r.blob(0)); return nil }, d.Tenant, d.Workflow, d.Version)
		switch {
		case err != nil:
			return err
		case found && hash != d.Hash:
			return &eventstore.ExistsError{What: d.String()}
		case found:
			return nil
		}
		_, err = w.conn.exec(`INSERT INTO definitions(tenant, workflow, version, hash, created, bytes) VALUES(?, ?, ?, ?, ?, ?)`,
			d.Tenant, d.Workflow, d.Version, d.Hash[:], d.Created, d.Bytes)
		return err
	})
}

func readDefinition(r row) eventstore.Definition {
	d := eventstore.Definition{Tenant: r.text(0), Workflow: r.text(1), Version: r.uint(2), Created: r.int(4)}
	copy(d.Hash[:], r.blob(3))
	return d
}

// Definition implements eventstore.Definitions.
func (s *Store) Definition(ctx context.Context, tenant, workflow string, version uint64) (d eventstore.Definition, err error) {
	err = s.read(ctx, eventstore.CheckWorkflow(tenant, workflow), func(c *conn) error {
		found, err := c.one(`SELECT tenant, workflow, version, hash, created, bytes FROM definitions
			WHERE tenant=?1 AND workflow=?2 AND (version=?3 OR ?3=0) ORDER BY version DESC LIMIT 1`, func(r row) error {
			d = readDefinition(r)
			d.Bytes = r.blob(5)
			return nil
		}, tenant, workflow, version)
		if err == nil && !found {
			err = &eventstore.NotFoundError{What: eventstore.Definition{Tenant: tenant, Workflow: workflow, Version: version}.String()}
		}
		return err
	})
	return d, err
}

// Workflows implements eventstore.Workflows.
func (s *Store) Workflows(ctx context.Context, tenant string, p eventstore.Page) ([]eventstore.Definition, string, error) {
	limit, wrong := p.Size()
	last := []string{""}
	if p.Cursor != "" && wrong == nil {
		_, last, wrong = eventstore.ParseCursor(p.Cursor, 1)
	}
	return list(ctx, s, cmp.Or(eventstore.CheckTenant(tenant), wrong), limit, nil, readDefinition,
		func(d eventstore.Definition) string { return eventstore.NewCursor(0, d.Workflow) },
		`SELECT tenant, workflow, max(version), hash, created FROM definitions WHERE tenant=? AND workflow>? GROUP BY workflow ORDER BY workflow LIMIT ?`,
		tenant, last[0], limit+1)
}

// Versions implements eventstore.Workflows.
func (s *Store) Versions(ctx context.Context, tenant, workflow string, p eventstore.Page) ([]eventstore.Definition, string, error) {
	limit, wrong := p.Size()
	last := int64(eventstore.MaxSequence)
	if p.Cursor != "" && wrong == nil {
		last, _, wrong = eventstore.ParseCursor(p.Cursor, 0)
		last--
	}
	return list(ctx, s, cmp.Or(eventstore.CheckWorkflow(tenant, workflow), wrong), limit, nil, readDefinition,
		func(d eventstore.Definition) string { return eventstore.NewCursor(int64(d.Version)) },
		`SELECT tenant, workflow, version, hash, created FROM definitions WHERE tenant=? AND workflow=? AND version<=? ORDER BY version DESC LIMIT ?`,
		tenant, workflow, last, limit+1)
}

// PutAlias implements eventstore.Aliases.
func (s *Store) PutAlias(ctx context.Context, a eventstore.Alias) error {
	return s.write(ctx, a.Check(), 0, func(w *writer) error {
		var stored eventstore.Alias
		if _, err := w.conn.one(selectAlias+`AND name=?`, func(r row) error { stored = readAlias(r); return nil }, a.Tenant, a.Workflow, a.Name); err != nil {
			return err
		}
		if stored.Revision == a.Revision && stored.Updated == a.Updated && slices.Equal(stored.Targets, a.Targets) {
			return nil
		}
		if stored.Revision != a.Revision-1 {
			return &eventstore.ConflictError{What: a.String(), Expected: a.Revision - 1, Actual: stored.Revision}
		}
		_, err := w.conn.exec(`INSERT OR REPLACE INTO aliases(tenant, workflow, name, revision, updated, targets) VALUES(?, ?, ?, ?, ?, ?)`,
			a.Tenant, a.Workflow, a.Name, a.Revision, a.Updated, packTargets(a.Targets))
		return err
	})
}

const selectAlias = `SELECT tenant, workflow, name, revision, updated, targets FROM aliases WHERE tenant=? AND workflow=? `

func readAlias(r row) eventstore.Alias {
	a := eventstore.Alias{Tenant: r.text(0), Workflow: r.text(1), Name: r.text(2), Revision: r.uint(3), Updated: r.int(4)}
	for b := r.blob(5); len(b) >= 12; b = b[12:] {
		a.Targets = append(a.Targets, eventstore.Target{Version: binary.BigEndian.Uint64(b), Weight: binary.BigEndian.Uint32(b[8:])})
	}
	return a
}

func packTargets(targets []eventstore.Target) []byte {
	var b []byte
	for _, t := range targets {
		b = binary.BigEndian.AppendUint64(b, t.Version)
		b = binary.BigEndian.AppendUint32(b, t.Weight)
	}
	return b
}

// Alias implements eventstore.Aliases.
func (s *Store) Alias(ctx context.Context, tenant, workflow, name string) (a eventstore.Alias, err error) {
	err = s.read(ctx, eventstore.CheckWorkflow(tenant, workflow), func(c *conn) error {
		found, err := c.one(selectAlias+`AND name=?`, func(r row) error { a = readAlias(r); return nil }, tenant, workflow, name)
		if err == nil && !found {
			err = &eventstore.NotFoundError{What: eventstore.Alias{Tenant: tenant, Workflow: workflow, Name: name}.String()}
		}
		return err
	})
	return a, err
}

// Aliases implements eventstore.Aliases.
func (s *Store) Aliases(ctx context.Context, tenant, workflow string, p eventstore.Page) ([]eventstore.Alias, string, error) {
	limit, wrong := p.Size()
	last := []string{""}
	if p.Cursor != "" && wrong == nil {
		_, last, wrong = eventstore.ParseCursor(p.Cursor, 1)
	}
	return list(ctx, s, cmp.Or(eventstore.CheckWorkflow(tenant, workflow), wrong), limit, nil, readAlias,
		func(a eventstore.Alias) string { return eventstore.NewCursor(0, a.Name) },
		selectAlias+`AND name>? ORDER BY name LIMIT ?`, tenant, workflow, last[0], limit+1)
}

// list reads one page of a list: up to limit items of a query that asks for one more, fewer if their sizes add up to
// MaxPageBytes, and the cursor of the next page.
func list[T any](ctx context.Context, s *Store, wrong error, limit int, size func(T) int, scan func(row) T, cursor func(T) string,
	query string, args ...any) ([]T, string, error) {
	var page []T
	next, bytes := "", 0
	err := s.read(ctx, wrong, func(c *conn) error {
		return c.query(query, func(r row) error {
			item := scan(r)
			if size != nil {
				bytes += size(item)
			}
			if len(page) == limit || len(page) > 0 && bytes > eventstore.MaxPageBytes {
				next = cursor(page[len(page)-1])
				return errFull
			}
			page = append(page, item)
			return nil
		}, args...)
	})
	if err != nil && err != errFull {
		return nil, "", err
	}
	return page, next, nil
}
