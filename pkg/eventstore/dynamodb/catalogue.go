package dynamodb

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

// Attributes of a version of a workflow, and of the newest one in the list of workflows.
const (
	attrHash    = "h"
	attrCreated = "c"
	attrBytes   = "b"
	attrChunks  = "n" // the bytes stand in so many chunks
	attrContent = "k" // SHA-256 of those bytes, which names the chunks
)

// Bytes of a definition stand in its own item up to inlineBytes, so that lists of versions stay cheap; else in chunks.
const (
	inlineBytes = 64 << 10
	chunkBytes  = 380_000
)

func versionKey(tenant, workflow string, version uint64) item {
	return key(partition(workflowPartition, tenant, workflow), versionSort+ordered(version))
}

func chunkKey(tenant, workflow, content string, n int) item {
	return key(partition(workflowPartition, tenant, workflow), fmt.Sprintf("%s%s/%d", chunkSort, content, n))
}

// PutDefinition implements eventstore.Definitions. Chunks are written before the version that names them, under the hash of the whole, so
// that what others write is never mixed with them.
func (s *Store) PutDefinition(ctx context.Context, d eventstore.Definition) error {
	if err := s.enter(ctx, d.Check()); err != nil {
		return err
	}
	i := versionKey(d.Tenant, d.Workflow, d.Version)
	i[attrHash] = binaryValue(d.Hash[:])
	i.setNumber(attrCreated, d.Created)
	if len(d.Bytes) <= inlineBytes {
		i.setBytes(attrBytes, d.Bytes)
	} else if err := s.putChunks(ctx, d, i); err != nil {
		return err
	}
	err := s.put(ctx, "put a definition", s.tables.Catalogue, i, absent, nil)
	if stands, refused := refusal(err); refused {
		if string(stands.bytes(attrHash)) != string(d.Hash[:]) {
			return &eventstore.ExistsError{What: d.String()}
		}
		err = nil
	}
	if err != nil {
		return err
	}
	return s.putNewest(ctx, d)
}

func (s *Store) putChunks(ctx context.Context, d eventstore.Definition, head item) error {
	content := digest(string(d.Bytes))
	n := 0
	for rest := d.Bytes; len(rest) > 0; n++ {
		i := chunkKey(d.Tenant, d.Workflow, content, n)
		i[attrBytes] = binaryValue(rest[:min(chunkBytes, len(rest))])
		rest = rest[min(chunkBytes, len(rest)):]
		if err := s.put(ctx, "put a part of a definition", s.tables.Catalogue, i, "", nil); err != nil {
			return err
		}
	}
	head[attrChunks], head[attrContent] = number(int64(n)), text(content)
	return nil
}

// putNewest shows a version in the list of workflows, unless a newer one is there.
func (s *Store) putNewest(ctx context.Context, d eventstore.Definition) error {
	i := key(partition(workflowsPartition, d.Tenant), d.Workflow)
	i[attrVersion], i[attrHash] = unsigned(d.Version), binaryValue(d.Hash[:])
	i.setNumber(attrCreated, d.Created)
	err := s.put(ctx, "list a workflow", s.tables.Catalogue, i, absent+" OR v < :v", item{":v": unsigned(d.Version)})
	if _, refused := refusal(err); refused {
		return nil
	}
	return err
}

// Definition implements eventstore.Definitions.
func (s *Store) Definition(ctx context.Context, tenant, workflow string, version uint64) (d eventstore.Definition, err error) {
	d = eventstore.Definition{Tenant: tenant, Workflow: workflow, Version: version}
	var i item
	wrong := eventstore.CheckWorkflow(tenant, workflow)
	if version > 0 {
		i, err = s.get(ctx, "read a definition", wrong, s.tables.Catalogue, versionKey(tenant, workflow, version))
	} else if err = s.enter(ctx, wrong); err == nil {
		err = s.versions(ctx, tenant, workflow, versionSort+"~", 1, "", func(found item) (bool, error) { i = found; return false, nil })
	}
	if err != nil {
		return d, err
	}
	if i == nil {
		return d, &eventstore.NotFoundError{What: d.String()}
	}
	if d, err = readVersion(tenant, workflow, i); err != nil {
		return d, err
	}
	d.Bytes = i.bytes(attrBytes)
	for n := range int(i.number(attrChunks)) {
		chunk, err := s.get(ctx, "read a part of a definition", nil, s.tables.Catalogue, chunkKey(tenant, workflow, i.text(attrContent), n))
		if err != nil {
			return d, err
		}
		d.Bytes = append(d.Bytes, chunk.bytes(attrBytes)...)
	}
	if i.has(attrContent) && digest(string(d.Bytes)) != i.text(attrContent) {
		return d, errors.New("dynamodb: the bytes of " + d.String() + " are not those that were put")
	}
	return d, nil
}

// readVersion reads a version of a workflow without its bytes.
func readVersion(tenant, workflow string, i item) (d eventstore.Definition, err error) {
	d = eventstore.Definition{Tenant: tenant, Workflow: workflow, Created: i.number(attrCreated)}
	copy(d.Hash[:], i.bytes(attrHash))
	d.Version, err = parseOrdered(i.text(schema.Sort)[len(versionSort):])
	return d, err
}

// versions calls keep with the versions of a workflow up to a sort key, the newest first.
func (s *Store) versions(ctx context.Context, tenant, workflow, to string, limit int, projection string, keep func(item) (bool, error)) error {
	in := s.sorts(s.tables.Catalogue, partition(workflowPartition, tenant, workflow), versionSort, to, limit)
	in.ScanIndexForward = aws.Bool(false)
	if projection != "" {
		in.ProjectionExpression = &projection
	}
	return s.read(ctx, "read versions", nil, func() error { return s.query(ctx, in, keep) })
}

// sorts asks, strongly, for the items of a partition between two sort keys, both included.
func (s *Store) sorts(table, partition, from, to string, limit int) *sdk.QueryInput {
	return &sdk.QueryInput{
		TableName: &table, ConsistentRead: aws.Bool(true), Limit: aws.Int32(int32(limit)), KeyConditionExpression: aws.String("p = :p AND s BETWEEN :from AND :to"),
		ExpressionAttributeValues: item{":p": text(partition), ":from": text(from), ":to": text(to)},
	}
}

// Versions implements eventstore.Workflows.
func (s *Store) Versions(ctx context.Context, tenant, workflow string, p eventstore.Page) ([]eventstore.Definition, string, error) {
	limit, wrong := p.Size()
	to := versionSort + "~"
	if p.Cursor != "" && wrong == nil {
		last, _, err := eventstore.ParseCursor(p.Cursor, 0)
		if wrong = err; err == nil {
			to = versionSort + ordered(uint64(max(last, 1)-1))
		}
	}
	if err := s.enter(ctx, cmp.Or(eventstore.CheckWorkflow(tenant, workflow), wrong)); err != nil {
		return nil, "", err
	}
	var page []eventstore.Definition
	err := s.versions(ctx, tenant, workflow, to, limit+1, "s, h, c", func(i item) (bool, error) {
		d, err := readVersion(tenant, workflow, i)
		page = append(page, d)
		return len(page) <= limit, err
	})
	if err != nil || len(page) <= limit {
		return page, "", err
	}
	page = page[:limit]
	return page, eventstore.NewCursor(int64(page[limit-1].Version)), nil
}

// Workflows implements eventstore.Workflows.
func (s *Store) Workflows(ctx context.Context, tenant string, p eventstore.Page) ([]eventstore.Definition, string, error) {
	var page []eventstore.Definition
	next, err := s.byName(ctx, "list workflows", eventstore.CheckTenant(tenant), partition(workflowsPartition, tenant), p, func(i item) error {
		d := eventstore.Definition{Tenant: tenant, Workflow: i.text(schema.Sort), Version: i.unsigned(attrVersion), Created: i.number(attrCreated)}
		copy(d.Hash[:], i.bytes(attrHash))
		page = append(page, d)
		return nil
	})
	return page, next, err
}

// byName lists a partition of the catalogue whose sort keys are names, and returns the cursor of the next page.
func (s *Store) byName(ctx context.Context, op string, wrong error, partition string, p eventstore.Page, keep func(item) error) (string, error) {
	limit, wrongPage := p.Size()
	wrong = cmp.Or(wrong, wrongPage)
	last := ""
	if p.Cursor != "" && wrong == nil {
		_, name, err := eventstore.ParseCursor(p.Cursor, 1)
		if wrong = err; err == nil {
			last = name[0]
		}
	}
	if err := s.enter(ctx, wrong); err != nil {
		return "", err
	}
	in := &sdk.QueryInput{
		TableName: &s.tables.Catalogue, ConsistentRead: aws.Bool(true), Limit: aws.Int32(int32(limit + 1)),
		KeyConditionExpression: aws.String("p = :p"), ExpressionAttributeValues: item{":p": text(partition)},
	}
	if last != "" {
		in.ExclusiveStartKey = key(partition, last)
	}
	n, next := 0, ""
	err := s.read(ctx, op, nil, func() error {
		return s.query(ctx, in, func(i item) (bool, error) {
			if n == limit {
				next = eventstore.NewCursor(0, last)
				return false, nil
			}
			n++
			last = i.text(schema.Sort)
			return true, keep(i)
		})
	})
	return next, err
}
