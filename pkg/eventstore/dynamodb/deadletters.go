package dynamodb

import (
	"cmp"
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

// Attributes of a dead letter beside its body. A second item finds it by its ID.
const (
	attrQueue = "q"
	attrCode  = "c"
	attrCause = "k"
	attrBody  = "d"
)

func letterKey(tenant string, at int64, id string) item {
	return key(partition(schema.LetterPartition, tenant), sorted(letterSort+backward(at)+"/"+id))
}

func letterIDKey(tenant, id string) item {
	return key(partition(schema.LetterPartition, tenant), named(letterID, id))
}

// PutDeadLetter implements eventstore.DeadLetters: a transaction of the letter and the item that finds it, for it is no part of the normal path.
func (s *Store) PutDeadLetter(ctx context.Context, d eventstore.DeadLetter) error {
	if err := s.enter(ctx, d.Check()); err != nil {
		return err
	}
	i := letterKey(d.Tenant, d.At, d.ID)
	i.setText(attrID, d.ID)
	i.setText(attrExecution, d.Execution)
	i.setText(attrQueue, d.Queue)
	i.setText(attrCode, d.Code)
	i.setText(attrCause, d.Cause)
	i.setNumber(attrAt, d.At)
	i.setBytes(attrBody, d.Body)
	i.setExpires(d.Expires)
	finds := letterIDKey(d.Tenant, d.ID)
	finds.setNumber(attrAt, d.At)
	if d.Expires != 0 {
		finds[schema.Expires] = number(seconds(d.Expires))
	}
	err := s.write(ctx, "put a dead letter", func(ctx context.Context) error {
		_, err := s.db.TransactWriteItems(ctx, &sdk.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{TableName: &s.tables.History, Item: finds, ConditionExpression: aws.String(absent)}},
			{Put: &types.Put{TableName: &s.tables.History, Item: i}},
		}})
		return err
	})
	var cancelled *types.TransactionCanceledException
	if errors.As(err, &cancelled) && conditionFailed(cancelled) { // the first one stands
		return nil
	}
	return err
}

func readLetter(tenant string, i item) eventstore.DeadLetter {
	return eventstore.DeadLetter{
		Tenant: tenant, ID: i.text(attrID), Execution: i.text(attrExecution), Queue: i.text(attrQueue), Code: i.text(attrCode), Cause: i.text(attrCause),
		At: i.number(attrAt), Expires: i.number(attrExpires), Body: i.bytes(attrBody),
	}
}

// DeadLetter implements eventstore.DeadLetters.
func (s *Store) DeadLetter(ctx context.Context, tenant, id string) (eventstore.DeadLetter, error) {
	var i item
	finds, err := s.get(ctx, "find a dead letter", eventstore.DeadLetter{Tenant: tenant, ID: id}.Check(), s.tables.History, letterIDKey(tenant, id))
	if err == nil && finds != nil {
		i, err = s.get(ctx, "read a dead letter", nil, s.tables.History, letterKey(tenant, finds.number(attrAt), id))
	}
	if err == nil && i == nil {
		err = &eventstore.NotFoundError{What: "dead letter " + id}
	}
	if err != nil {
		return eventstore.DeadLetter{}, err
	}
	return readLetter(tenant, i), nil
}

// RemoveDeadLetter implements eventstore.DeadLetters.
func (s *Store) RemoveDeadLetter(ctx context.Context, tenant, id string) error {
	finds, err := s.get(ctx, "find a dead letter", eventstore.DeadLetter{Tenant: tenant, ID: id}.Check(), s.tables.History, letterIDKey(tenant, id))
	if err != nil || finds == nil {
		return err
	}
	return s.write(ctx, "remove a dead letter", func(ctx context.Context) error {
		_, err := s.db.TransactWriteItems(ctx, &sdk.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			{Delete: &types.Delete{TableName: &s.tables.History, Key: letterIDKey(tenant, id)}},
			{Delete: &types.Delete{TableName: &s.tables.History, Key: letterKey(tenant, finds.number(attrAt), id)}},
		}})
		return err
	})
}

// DeadLetters implements eventstore.DeadLetterList.
func (s *Store) DeadLetters(ctx context.Context, tenant string, p eventstore.Page) ([]eventstore.DeadLetter, string, error) {
	limit, wrong := p.Size()
	from := letterSort
	if p.Cursor != "" && wrong == nil {
		at, id, err := eventstore.ParseCursor(p.Cursor, 1)
		if wrong = err; err == nil {
			from = letterKey(tenant, at, id[0]).text(schema.Sort) + "\x00"
		}
	}
	if err := s.enter(ctx, cmp.Or(eventstore.CheckTenant(tenant), wrong)); err != nil {
		return nil, "", err
	}
	var page []eventstore.DeadLetter
	size, more := 0, false
	in := s.sorts(s.tables.History, partition(schema.LetterPartition, tenant), from, letterSort+"~", limit+1)
	err := s.read(ctx, "list dead letters", nil, func() error {
		return s.query(ctx, in, func(i item) (bool, error) {
			d := readLetter(tenant, i)
			size += len(d.Body)
			if more = len(page) == limit || size > eventstore.MaxPageBytes && len(page) > 0; !more {
				page = append(page, d)
			}
			return !more, nil
		})
	})
	if err != nil || !more {
		return page, "", err
	}
	last := page[len(page)-1]
	return page, eventstore.NewCursor(last.At, last.ID), nil
}
