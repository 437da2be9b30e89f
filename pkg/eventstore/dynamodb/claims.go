package dynamodb

import (
	"cmp"
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

// Attributes of a claim.
const (
	attrOwner   = "o"
	attrWorker  = "w"
	attrStarted = "b"
	attrUntil   = "u"
	attrLimit   = "l"
)

func claimKey(k eventstore.ClaimKey) item {
	return key(claimsPartition(k.Stream), named(ordered(k.Fence), k.Attempt))
}

func readClaim(i item) eventstore.Claim {
	return eventstore.Claim{
		Owner: i.text(attrOwner), Worker: i.text(attrWorker), Started: i.number(attrStarted),
		Until: i.number(attrUntil), Limit: i.number(attrLimit), Expires: i.number(attrExpires),
	}
}

// Claim implements eventstore.Claims: one put, which tells of the claim that stands if it is refused.
func (s *Store) Claim(ctx context.Context, k eventstore.ClaimKey, c eventstore.Claim) (eventstore.Claim, error) {
	if err := s.enter(ctx, cmp.Or(k.Check(), c.Check())); err != nil {
		return eventstore.Claim{}, err
	}
	i := claimKey(k)
	i.setText(attrOwner, c.Owner)
	i.setText(attrWorker, c.Worker)
	i.setNumber(attrStarted, c.Started)
	i[attrUntil] = number(c.Until)
	i.setNumber(attrLimit, c.Limit)
	i.setExpires(c.Expires)
	err := s.put(ctx, "claim", s.tables.History, i, absent, nil)
	if stands, refused := refusal(err); refused {
		return readClaim(stands), nil
	}
	if err != nil {
		return eventstore.Claim{}, err
	}
	return c, nil
}

// Extend implements eventstore.Claims. The condition keeps the end from moving back.
func (s *Store) Extend(ctx context.Context, k eventstore.ClaimKey, held eventstore.Claim, until int64) (eventstore.Claim, error) {
	if err := s.enter(ctx, cmp.Or(k.Check(), held.Check())); err != nil {
		return eventstore.Claim{}, err
	}
	until = held.Extended(until).Until
	var stands item
	err := s.write(ctx, "extend a claim", func(ctx context.Context) error {
		out, err := s.db.UpdateItem(ctx, &sdk.UpdateItemInput{
			TableName: &s.tables.History, Key: claimKey(k),
			UpdateExpression: aws.String("SET u = :u"), ConditionExpression: aws.String("o = :o AND u <= :u"),
			ExpressionAttributeValues: item{":u": number(until), ":o": text(held.Owner)},
			ReturnValues:              types.ReturnValueAllNew, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		if err == nil {
			stands = out.Attributes
		}
		return err
	})
	stored, refused := refusal(err)
	switch {
	case refused && stored.text(attrOwner) == held.Owner: // it reaches further already
		return readClaim(stored), nil
	case refused:
		return eventstore.Claim{}, &eventstore.NotOwnerError{Key: k, Claim: readClaim(stored)}
	case err != nil:
		return eventstore.Claim{}, err
	}
	return readClaim(stands), nil
}

// ReadClaim implements eventstore.Claims.
func (s *Store) ReadClaim(ctx context.Context, k eventstore.ClaimKey) (eventstore.Claim, error) {
	found, err := s.get(ctx, "read a claim", k.Check(), s.tables.History, claimKey(k))
	if err == nil && found == nil {
		err = &eventstore.NotFoundError{What: "claim of " + k.String()}
	}
	return readClaim(found), err
}

// End implements eventstore.Claims.
func (s *Store) End(ctx context.Context, k eventstore.ClaimKey, expires int64) error {
	if err := s.enter(ctx, k.Check()); err != nil {
		return err
	}
	set, values := "SET o = :o, u = :u", item{":o": text(eventstore.Ended), ":u": number(0)}
	var names map[string]string
	if expires != 0 {
		set += ", e = if_not_exists(e, :e), #x = if_not_exists(#x, :x)"
		values[":e"], values[":x"] = number(expires), number(seconds(expires))
		names = map[string]string{"#x": schema.Expires}
	}
	return s.write(ctx, "end an attempt", func(ctx context.Context) error {
		_, err := s.db.UpdateItem(ctx, &sdk.UpdateItemInput{TableName: &s.tables.History, Key: claimKey(k),
			UpdateExpression: &set, ExpressionAttributeValues: values, ExpressionAttributeNames: names})
		return err
	})
}

func noticeKey(s eventstore.Stream, notice string) item {
	return key(historyPartition(s), named(noticeSort, notice))
}

// Acknowledge implements eventstore.Notices.
func (s *Store) Acknowledge(ctx context.Context, id eventstore.Stream, notice string) error {
	if err := s.enter(ctx, eventstore.CheckNotice(id, notice)); err != nil {
		return err
	}
	return s.put(ctx, "acknowledge", s.tables.History, noticeKey(id, notice), "", nil)
}

// Acknowledged implements eventstore.Notices.
func (s *Store) Acknowledged(ctx context.Context, id eventstore.Stream, notice string) (bool, error) {
	found, err := s.get(ctx, "read a notice", eventstore.CheckNotice(id, notice), s.tables.History, noticeKey(id, notice))
	return found != nil, err
}
