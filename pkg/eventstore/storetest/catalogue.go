package storetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

func testDefinitions(t *testing.T, s *suite) {
	_, err := s.Store.Definition(s.ctx, "acme", "order", 0)
	require.ErrorIs(t, err, eventstore.ErrNotFound)
	definition := func(version uint64, text string) eventstore.Definition {
		d := eventstore.Definition{Tenant: "acme", Workflow: "order", Version: version, Created: int64(version) * 10, Bytes: []byte(text)}
		copy(d.Hash[:], text)
		return d
	}
	first, second := definition(1, "first"), definition(2, "second")
	require.NoError(t, s.Store.PutDefinition(s.ctx, first))
	require.NoError(t, s.Store.PutDefinition(s.ctx, second))
	require.NoError(t, s.Store.PutDefinition(s.ctx, first), "a repeat is done already")
	var exists *eventstore.ExistsError
	require.ErrorAs(t, s.Store.PutDefinition(s.ctx, definition(1, "other")), &exists)
	for version, want := range map[uint64]eventstore.Definition{1: first, 2: second, 0: second} {
		got, err := s.Store.Definition(s.ctx, "acme", "order", version)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, d := range []eventstore.Definition{{Tenant: "acme", Workflow: "order", Version: 3}, {Tenant: "other", Workflow: "order"}, {Tenant: "acme", Workflow: "orders"}} {
		_, err := s.Store.Definition(s.ctx, d.Tenant, d.Workflow, d.Version)
		require.ErrorIs(t, err, eventstore.ErrNotFound)
	}
	large := definition(3, string(make([]byte, eventstore.MaxDefinition)))
	require.NoError(t, s.Store.PutDefinition(s.ctx, large))
	got, err := s.Store.Definition(s.ctx, "acme", "order", 3)
	require.NoError(t, err)
	require.Equal(t, large, got)
}

func testCatalogueLists(t *testing.T, s *suite) {
	const workflows, versions = 7, 5
	put := func(tenant, name string, versions int) {
		for v := range versions {
			d := eventstore.Definition{Tenant: tenant, Workflow: name, Version: uint64(v + 1), Hash: eventstore.Hash{byte(v)}, Bytes: []byte("x")}
			require.NoError(t, s.Store.PutDefinition(s.ctx, d))
		}
	}
	for i := range workflows {
		put("acme", fmt.Sprint("flow-", i), versions)
	}
	put("acm", "flow-0", 1)
	put("acmes", "flow-9", 1)
	for _, limit := range []int{1, 2, workflows, 100} {
		all := pages(t, limit, func(p eventstore.Page) ([]eventstore.Definition, string, error) {
			return s.Store.Workflows(s.ctx, "acme", p)
		})
		require.Len(t, all, workflows)
		for i, d := range all {
			require.Equal(t, eventstore.Definition{Tenant: "acme", Workflow: fmt.Sprint("flow-", i), Version: versions, Hash: eventstore.Hash{versions - 1}}, d)
		}
		all = pages(t, limit, func(p eventstore.Page) ([]eventstore.Definition, string, error) {
			return s.Store.Versions(s.ctx, "acme", "flow-3", p)
		})
		require.Len(t, all, versions)
		for i, d := range all {
			require.EqualValues(t, versions-i, d.Version)
			require.Equal(t, "flow-3", d.Workflow)
			require.Empty(t, d.Bytes)
		}
	}
	none, next, err := s.Store.Workflows(s.ctx, "nobody", eventstore.Page{})
	require.NoError(t, err)
	require.Empty(t, none)
	require.Empty(t, next)
}

func testAliases(t *testing.T, s *suite) {
	alias := func(revision uint64, targets ...eventstore.Target) eventstore.Alias {
		return eventstore.Alias{Tenant: "acme", Workflow: "order", Name: "live", Revision: revision, Updated: int64(revision), Targets: targets}
	}
	_, err := s.Store.Alias(s.ctx, "acme", "order", "live")
	require.ErrorIs(t, err, eventstore.ErrNotFound)
	var conflict *eventstore.ConflictError
	require.ErrorAs(t, s.Store.PutAlias(s.ctx, alias(2)), &conflict)
	first := alias(1, eventstore.Target{Version: 1, Weight: 1})
	second := alias(2, eventstore.Target{Version: 1, Weight: 90}, eventstore.Target{Version: 2, Weight: 10})
	require.NoError(t, s.Store.PutAlias(s.ctx, first))
	require.NoError(t, s.Store.PutAlias(s.ctx, first), "a repeat is done already")
	require.NoError(t, s.Store.PutAlias(s.ctx, second))
	for _, stale := range []eventstore.Alias{first, alias(2), alias(4)} {
		require.ErrorAs(t, s.Store.PutAlias(s.ctx, stale), &conflict)
		require.Equal(t, stale.Revision-1, conflict.Expected)
		require.EqualValues(t, 2, conflict.Actual)
	}
	got, err := s.Store.Alias(s.ctx, "acme", "order", "live")
	require.NoError(t, err)
	require.Equal(t, second, got)
	off := alias(3)
	require.NoError(t, s.Store.PutAlias(s.ctx, off))
	got, err = s.Store.Alias(s.ctx, "acme", "order", "live")
	require.NoError(t, err)
	require.Equal(t, off, got)

	for i := range 5 {
		a := alias(1, eventstore.Target{Version: 7})
		a.Name = fmt.Sprint("alias-", i)
		require.NoError(t, s.Store.PutAlias(s.ctx, a))
		a.Workflow = "orders"
		require.NoError(t, s.Store.PutAlias(s.ctx, a))
	}
	for _, limit := range []int{1, 4, 6} {
		all := pages(t, limit, func(p eventstore.Page) ([]eventstore.Alias, string, error) {
			return s.Store.Aliases(s.ctx, "acme", "order", p)
		})
		require.Len(t, all, 6)
		require.Equal(t, "alias-0", all[0].Name)
		require.Equal(t, []eventstore.Target{{Version: 7}}, all[4].Targets)
		require.Equal(t, "live", all[5].Name)
	}
}
