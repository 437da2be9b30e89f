package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// compareDefinitions puts the newest version of a workflow first.
func compareDefinitions(a, b eventstore.Definition) int {
	return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Workflow, b.Workflow), cmp.Compare(b.Version, a.Version))
}

func compareAliases(a, b eventstore.Alias) int {
	return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Workflow, b.Workflow), strings.Compare(a.Name, b.Name))
}

// PutDefinition implements eventstore.Definitions.
func (s *Store) PutDefinition(ctx context.Context, d eventstore.Definition) error {
	if err := s.enter(ctx, d.Check()); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if stored, ok := s.definitions.get(d); ok {
		if stored.Hash != d.Hash {
			return &eventstore.ExistsError{What: d.String()}
		}
		return nil
	}
	d.Bytes = bytes.Clone(d.Bytes)
	s.definitions.put(d)
	return nil
}

// Definition implements eventstore.Definitions.
func (s *Store) Definition(ctx context.Context, tenant, workflow string, version uint64) (eventstore.Definition, error) {
	if err := s.enter(ctx, eventstore.CheckWorkflow(tenant, workflow)); err != nil {
		return eventstore.Definition{}, err
	}
	defer s.mu.Unlock()
	wanted := eventstore.Definition{Tenant: tenant, Workflow: workflow, Version: version}
	i, ok := s.definitions.seek(wanted)
	if version == 0 {
		i, ok = s.newest(tenant, workflow)
	}
	if !ok {
		return eventstore.Definition{}, &eventstore.NotFoundError{What: wanted.String()}
	}
	d := s.definitions.items[i]
	d.Bytes = bytes.Clone(d.Bytes)
	return d, nil
}

// newest returns the place of the newest version of a workflow.
func (s *Store) newest(tenant, workflow string) (int, bool) {
	i, _ := s.definitions.seek(eventstore.Definition{Tenant: tenant, Workflow: workflow, Version: eventstore.MaxSequence + 1})
	if i == len(s.definitions.items) {
		return 0, false
	}
	d := s.definitions.items[i]
	return i, d.Tenant == tenant && d.Workflow == workflow
}

// Workflows implements eventstore.Workflows.
func (s *Store) Workflows(ctx context.Context, tenant string, p eventstore.Page) ([]eventstore.Definition, string, error) {
	limit, wrong := p.Size()
	last := []string{""}
	if p.Cursor != "" && wrong == nil {
		_, last, wrong = eventstore.ParseCursor(p.Cursor, 1)
	}
	if err := s.enter(ctx, cmp.Or(eventstore.CheckTenant(tenant), wrong)); err != nil {
		return nil, "", err
	}
	defer s.mu.Unlock()
	// Version 0 comes after all versions of the workflow that the page before ended with.
	rest := s.definitions.after(eventstore.Definition{Tenant: tenant, Workflow: last[0]})
	var found []eventstore.Definition
	for _, d := range rest {
		if d.Tenant != tenant || len(found) > limit {
			break
		}
		if len(found) == 0 || found[len(found)-1].Workflow != d.Workflow {
			d.Bytes = nil
			found = append(found, d)
		}
	}
	page, more := pageOf(found, limit, nil)
	if !more {
		return page, "", nil
	}
	return page, eventstore.NewCursor(0, page[len(page)-1].Workflow), nil
}

// Versions implements eventstore.Workflows.
func (s *Store) Versions(ctx context.Context, tenant, workflow string, p eventstore.Page) ([]eventstore.Definition, string, error) {
	limit, wrong := p.Size()
	last := int64(eventstore.MaxSequence)
	if p.Cursor != "" && wrong == nil {
		last, _, wrong = eventstore.ParseCursor(p.Cursor, 0)
		last--
	}
	if err := s.enter(ctx, cmp.Or(eventstore.CheckWorkflow(tenant, workflow), wrong)); err != nil {
		return nil, "", err
	}
	defer s.mu.Unlock()
	from, _ := s.definitions.seek(eventstore.Definition{Tenant: tenant, Workflow: workflow, Version: uint64(last)})
	to, _ := s.definitions.seek(eventstore.Definition{Tenant: tenant, Workflow: workflow})
	page, more := pageOf(s.definitions.items[min(from, to):to], limit, nil)
	page = slices.Clone(page)
	for i := range page {
		page[i].Bytes = nil
	}
	if !more {
		return page, "", nil
	}
	return page, eventstore.NewCursor(int64(page[len(page)-1].Version)), nil
}

// PutAlias implements eventstore.Aliases.
func (s *Store) PutAlias(ctx context.Context, a eventstore.Alias) error {
	if err := s.enter(ctx, a.Check()); err != nil {
		return err
	}
	defer s.mu.Unlock()
	stored, _ := s.aliases.get(a)
	if stored.Revision == a.Revision && stored.Updated == a.Updated && slices.Equal(stored.Targets, a.Targets) {
		return nil
	}
	if stored.Revision != a.Revision-1 {
		return &eventstore.ConflictError{What: a.String(), Expected: a.Revision - 1, Actual: stored.Revision}
	}
	a.Targets = slices.Clone(a.Targets)
	s.aliases.put(a)
	return nil
}

// Alias implements eventstore.Aliases.
func (s *Store) Alias(ctx context.Context, tenant, workflow, name string) (eventstore.Alias, error) {
	if err := s.enter(ctx, eventstore.CheckWorkflow(tenant, workflow)); err != nil {
		return eventstore.Alias{}, err
	}
	defer s.mu.Unlock()
	wanted := eventstore.Alias{Tenant: tenant, Workflow: workflow, Name: name}
	a, ok := s.aliases.get(wanted)
	if !ok {
		return eventstore.Alias{}, &eventstore.NotFoundError{What: wanted.String()}
	}
	a.Targets = slices.Clone(a.Targets)
	return a, nil
}

// Aliases implements eventstore.Aliases.
func (s *Store) Aliases(ctx context.Context, tenant, workflow string, p eventstore.Page) ([]eventstore.Alias, string, error) {
	limit, wrong := p.Size()
	last := []string{""}
	if p.Cursor != "" && wrong == nil {
		_, last, wrong = eventstore.ParseCursor(p.Cursor, 1)
	}
	if err := s.enter(ctx, cmp.Or(eventstore.CheckWorkflow(tenant, workflow), wrong)); err != nil {
		return nil, "", err
	}
	defer s.mu.Unlock()
	rest := s.aliases.after(eventstore.Alias{Tenant: tenant, Workflow: workflow, Name: last[0]})
	end := slices.IndexFunc(rest, func(a eventstore.Alias) bool { return a.Tenant != tenant || a.Workflow != workflow })
	if end >= 0 {
		rest = rest[:end]
	}
	page, more := pageOf(rest, limit, nil)
	page = slices.Clone(page)
	for i := range page {
		page[i].Targets = slices.Clone(page[i].Targets)
	}
	if !more {
		return page, "", nil
	}
	return page, eventstore.NewCursor(0, page[len(page)-1].Name), nil
}
