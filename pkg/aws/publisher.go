package aws

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb"
	"github.com/wovyr/wovyr/pkg/worker"
)

// Publisher handles a batch of the history table's stream, events from outside, or the request to look after what failed: whatever its event is.
func (p *Platform) Publisher(ctx context.Context, event json.RawMessage) (any, error) {
	var e struct {
		Records []struct {
			Source string `json:"eventSource"`
		} `json:"Records"`
		stack.ReplayRequest
	}
	if err := json.Unmarshal(event, &e); err != nil {
		return nil, fmt.Errorf("aws: the publisher got an event that is none: %w", err)
	}
	ctx, cancel := within(ctx)
	defer cancel()
	if e.Wovyr == stack.ReplayEvent {
		return p.Replay(ctx, e.ReplayRequest)
	}
	if len(e.Records) > 0 && e.Records[0].Source == "aws:sqs" {
		var batch events.SQSEvent
		if err := json.Unmarshal(event, &batch); err != nil {
			return nil, fmt.Errorf("aws: the publisher got messages that are none: %w", err)
		}
		return p.takeIn(ctx, batch), nil
	}
	var batch events.DynamoDBEvent
	if err := json.Unmarshal(event, &batch); err != nil {
		return nil, fmt.Errorf("aws: the publisher got changes that are none: %w", err)
	}
	return p.PublishChanges(ctx, batch), nil
}

// PublishChanges derives the index, lifecycle events and emitted events from changes of the history table (commit protocol, point 14). The answer
// names the first record that failed: the service tries from there on again. All of it may happen more than once.
func (p *Platform) PublishChanges(ctx context.Context, e events.DynamoDBEvent) events.DynamoDBEventResponse {
	var changes []dynamodb.Change
	places := map[place]string{}
	var failed string
	for _, r := range e.Records {
		c, ok, err := dynamodb.ReadChange(attributes(r.Change.NewImage))
		if err != nil {
			p.Log.Error("change not understood", "record", r.EventID, "cause", err)
			failed = r.Change.SequenceNumber
			break
		}
		if ok {
			places[placeOf(c)] = r.Change.SequenceNumber
			changes = append(changes, c)
		}
	}
	// Rows first: lists are right even where somebody outside cannot be told.
	broken, err := p.Store.PutNewest(ctx, changes)
	if err != nil {
		p.Log.Warn("index not written", "executions", len(broken), "cause", err)
	}
	first := failed
	notYet := map[string]bool{}
	for _, c := range broken {
		notYet[places[placeOf(c)]] = true
	}
	for _, c := range changes {
		at := places[placeOf(c)]
		if notYet[at] {
			first = at
			break
		}
		if err := p.pass(ctx, c); err != nil {
			p.Log.Warn("commit not published", "execution", c.Stream.ID, "version", c.Commit.First, "cause", err)
			first = at
			break
		}
	}
	if first == "" {
		return events.DynamoDBEventResponse{BatchItemFailures: []events.DynamoDBBatchItemFailure{}}
	}
	return events.DynamoDBEventResponse{BatchItemFailures: []events.DynamoDBBatchItemFailure{{ItemIdentifier: first}}}
}

// place names a commit.
type place struct {
	stream eventstore.Stream
	first  uint64
}

func placeOf(c dynamodb.Change) place { return place{c.Stream, c.Commit.First} }

// pass tells executions, the bus and the metrics of what a commit holds for them.
func (p *Platform) pass(ctx context.Context, c dynamodb.Change) error {
	if !c.Commit.Publish {
		return nil
	}
	if err := p.orBury(ctx, c, p.Worker.Emit(ctx, c.Stream, c.Commit)); err != nil {
		return err
	}
	return p.orBury(ctx, c, p.announce(ctx, c))
}

// orBury makes a dead letter of a commit that can never be passed on, such as one whose event's key has too many: what comes behind it in the
// stream does not wait for an operator.
func (p *Platform) orBury(ctx context.Context, c dynamodb.Change, err error) error {
	if err == nil || worker.Passing(err) {
		return err
	}
	return p.Worker.BuryEmission(ctx, eventstore.FeedEntry{Stream: c.Stream, First: c.Commit.First}, err)
}

// attributes turns an image as Lambda has it into one as the SDK has it.
func attributes(image map[string]events.DynamoDBAttributeValue) map[string]types.AttributeValue {
	out := make(map[string]types.AttributeValue, len(image))
	for name, v := range image { // order-free: a map again
		out[name] = attributeOf(v)
	}
	return out
}

func attributeOf(v events.DynamoDBAttributeValue) types.AttributeValue {
	switch v.DataType() {
	case events.DataTypeBinary:
		return &types.AttributeValueMemberB{Value: v.Binary()}
	case events.DataTypeBoolean:
		return &types.AttributeValueMemberBOOL{Value: v.Boolean()}
	case events.DataTypeNumber:
		return &types.AttributeValueMemberN{Value: v.Number()}
	case events.DataTypeString:
		return &types.AttributeValueMemberS{Value: v.String()}
	case events.DataTypeStringSet:
		return &types.AttributeValueMemberSS{Value: v.StringSet()}
	case events.DataTypeNumberSet:
		return &types.AttributeValueMemberNS{Value: v.NumberSet()}
	case events.DataTypeBinarySet:
		return &types.AttributeValueMemberBS{Value: v.BinarySet()}
	case events.DataTypeMap:
		return &types.AttributeValueMemberM{Value: attributes(v.Map())}
	case events.DataTypeList:
		list := make([]types.AttributeValue, len(v.List()))
		for i, x := range v.List() {
			list[i] = attributeOf(x)
		}
		return &types.AttributeValueMemberL{Value: list}
	}
	return &types.AttributeValueMemberNULL{Value: true}
}

// takeIn takes in events from outside.
func (p *Platform) takeIn(ctx context.Context, e events.SQSEvent) events.SQSEventResponse {
	var failed failures
	for _, record := range e.Records {
		r := received{record, receives(record)}
		err := p.TakeIn(ctx, record.MessageId, []byte(record.Body))
		if err == nil || p.unreadable(ctx, record, err) {
			continue
		}
		p.comesAgain(ctx, p.incoming, r, worker.Answer{After: p.Worker.Limits.Retry, Err: err}, &failed)
	}
	return failed.response()
}
