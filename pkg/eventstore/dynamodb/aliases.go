package dynamodb

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

// Attributes of an alias beside its revision.
const (
	attrUpdated = "u"
	attrTargets = "t"
)

// PutAlias implements eventstore.Aliases.
func (s *Store) PutAlias(ctx context.Context, a eventstore.Alias) error {
	if err := s.enter(ctx, a.Check()); err != nil {
		return err
	}
	i := aliasKey(a.Tenant, a.Workflow, a.Name)
	i[attrRevision] = unsigned(a.Revision)
	i.setNumber(attrUpdated, a.Updated)
	i.setBytes(attrTargets, packTargets(a.Targets))
	condition, values := absent, item(nil)
	if a.Revision > 1 {
		condition, values = "r = :r", item{":r": unsigned(a.Revision - 1)}
	}
	err := s.put(ctx, "put an alias", s.tables.Catalogue, i, condition, values)
	stands, refused := refusal(err)
	switch {
	case !refused:
		return err
	case stands.unsigned(attrRevision) == a.Revision && stands.number(attrUpdated) == a.Updated && string(stands.bytes(attrTargets)) == string(packTargets(a.Targets)):
		return nil
	}
	return &eventstore.ConflictError{What: a.String(), Expected: a.Revision - 1, Actual: stands.unsigned(attrRevision)}
}

func aliasKey(tenant, workflow, name string) item {
	return key(partition(aliasPartition, tenant, workflow), name)
}

// packTargets packs versions and weights.
func packTargets(targets []eventstore.Target) []byte {
	var b []byte
	for _, t := range targets {
		b = binary.AppendUvarint(binary.AppendUvarint(b, t.Version), uint64(t.Weight))
	}
	return b
}

func readAlias(tenant, workflow string, i item) (eventstore.Alias, error) {
	a := eventstore.Alias{Tenant: tenant, Workflow: workflow, Name: i.text(schema.Sort), Revision: i.unsigned(attrRevision), Updated: i.number(attrUpdated)}
	u := unpacker{b: i.bytes(attrTargets)}
	for len(u.b) > 0 && !u.bad {
		a.Targets = append(a.Targets, eventstore.Target{Version: u.uvarint(), Weight: uint32(u.uvarint())})
	}
	if u.bad {
		return a, errors.New("dynamodb: " + a.String() + " is not what this program writes")
	}
	return a, nil
}

// Alias implements eventstore.Aliases.
func (s *Store) Alias(ctx context.Context, tenant, workflow, name string) (eventstore.Alias, error) {
	named := eventstore.Alias{Tenant: tenant, Workflow: workflow, Name: name, Revision: 1}
	i, err := s.get(ctx, "read an alias", named.Check(), s.tables.Catalogue, aliasKey(tenant, workflow, name))
	if err == nil && i == nil {
		err = &eventstore.NotFoundError{What: named.String()}
	}
	if err != nil {
		return eventstore.Alias{}, err
	}
	return readAlias(tenant, workflow, i)
}

// Aliases implements eventstore.Aliases.
func (s *Store) Aliases(ctx context.Context, tenant, workflow string, p eventstore.Page) ([]eventstore.Alias, string, error) {
	var page []eventstore.Alias
	next, err := s.byName(ctx, "list aliases", eventstore.CheckWorkflow(tenant, workflow), partition(aliasPartition, tenant, workflow), p, func(i item) error {
		a, err := readAlias(tenant, workflow, i)
		page = append(page, a)
		return err
	})
	return page, next, err
}
