package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

// stream plays the mapping from the stream of the history to the publisher, as Lambda does it: from the first record that the publisher names on
// again, in halves after a failure, and at last to the queue of what was not published. The emulator's own takes every answer for a success.
// Under faults batches come in pieces and again.
type stream struct {
	d      *deployment
	dice   *rand.Rand
	arn    string
	faults atomic.Bool

	mu sync.Mutex
	// given are the records that were given up.
	given []json.RawMessage
}

// failures are the records that were given up.
func (s *stream) failures() []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.given)
}

// record is what the mapping needs of a record.
type record struct {
	raw      json.RawMessage
	Dynamodb struct{ SequenceNumber string }
}

// play takes the mapping's place until the test ends.
func (d *deployment) stream(t *testing.T, seed uint64) *stream {
	history := d.functions["Activity"][stack.EnvHistoryTable]
	table, err := dynamodb.NewFromConfig(d.cfg).DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &history})
	require.NoError(t, err)
	s := &stream{d: d, dice: rand.New(rand.NewPCG(seed, 3)), arn: aws.ToString(table.Table.LatestStreamArn)}
	functions := lambda.NewFromConfig(d.cfg)
	publisher := d.names["Publisher"]
	mappings, err := functions.ListEventSourceMappings(t.Context(), &lambda.ListEventSourceMappingsInput{FunctionName: &publisher, EventSourceArn: &s.arn})
	require.NoError(t, err)
	require.Len(t, mappings.EventSourceMappings, 1)
	id := mappings.EventSourceMappings[0].UUID
	enable := func(ctx context.Context, on bool) {
		_, err := functions.UpdateEventSourceMapping(ctx, &lambda.UpdateEventSourceMappingInput{UUID: id, Enabled: &on})
		require.NoError(t, err)
	}
	iterator, err := s.iterator(t.Context(), "LATEST")
	require.NoError(t, err)
	enable(t.Context(), false)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.run(ctx, iterator)
	}()
	t.Cleanup(func() {
		stop()
		<-done
		enable(context.WithoutCancel(t.Context()), true)
	})
	return s
}

// call calls the API of streams, whose records have the form that functions get, but for where they come from.
func (s *stream) call(ctx context.Context, operation string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv("AWS_ENDPOINT_URL"), bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("X-Amz-Target", "DynamoDBStreams_20120810."+operation)
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", operation, res.Status, text)
	}
	return json.Unmarshal(text, out)
}

func (s *stream) iterator(ctx context.Context, from string) (string, error) {
	var description struct {
		StreamDescription struct{ Shards []struct{ ShardId string } }
	}
	if err := s.call(ctx, "DescribeStream", map[string]any{"StreamArn": s.arn}, &description); err != nil {
		return "", err
	}
	var out struct{ ShardIterator string }
	shards := description.StreamDescription.Shards
	err := s.call(ctx, "GetShardIterator", map[string]any{"StreamArn": s.arn, "ShardId": shards[len(shards)-1].ShardId, "ShardIteratorType": from}, &out)
	return out.ShardIterator, err
}

// run reads the stream to the end of the test.
func (s *stream) run(ctx context.Context, iterator string) {
	again := time.NewTicker(look)
	defer again.Stop()
	var before []record
	for ctx.Err() == nil {
		var page struct {
			Records           []json.RawMessage
			NextShardIterator string
		}
		err := s.call(ctx, "GetRecords", map[string]any{"ShardIterator": iterator, "Limit": stack.StreamBatch}, &page)
		if err == nil {
			iterator = page.NextShardIterator
		}
		var batch []record
		for _, raw := range page.Records {
			r := record{raw: raw}
			if json.Unmarshal(raw, &r) == nil && passes(raw) {
				batch = append(batch, r)
			}
		}
		if s.faults.Load() && s.dice.IntN(5) == 0 { // a batch comes again, behind newer ones
			s.deliver(ctx, before, 0)
		}
		s.deliver(ctx, batch, 0)
		if len(batch) > 0 {
			before = batch
			continue
		}
		select {
		case <-ctx.Done():
		case <-again.C:
		}
	}
}

// passes applies the filter of the mapping: new commits.
func passes(raw json.RawMessage) bool {
	var r struct {
		EventName string `json:"eventName"`
		Dynamodb  struct {
			Keys map[string]struct{ S string }
		} `json:"dynamodb"`
	}
	if json.Unmarshal(raw, &r) != nil || r.EventName != "INSERT" {
		return false
	}
	p, c := r.Dynamodb.Keys[schema.Partition].S, r.Dynamodb.Keys[schema.Sort].S
	return len(p) >= 2 && p[:2] == schema.CommitPartition && len(c) >= 1 && c[:1] == schema.CommitSort
}

// deliver gives a batch to the publisher until it is done with.
func (s *stream) deliver(ctx context.Context, batch []record, tries int) {
	again := time.NewTicker(look)
	defer again.Stop()
	for len(batch) > 0 && ctx.Err() == nil {
		n := len(batch)
		if s.faults.Load() {
			n = 1 + s.dice.IntN(len(batch)) // in pieces
		}
		done := s.invoke(ctx, batch[:n])
		batch = batch[done:]
		if done == n {
			tries = 0
			continue
		}
		if done > 0 {
			tries = 0
		}
		if tries++; tries > stack.StreamRetries {
			if n = n - done; n == 1 { // it is this one
				s.mu.Lock()
				s.given = append(s.given, batch[0].raw)
				s.mu.Unlock()
				batch, tries = batch[1:], 0
				continue
			}
			s.deliver(ctx, batch[:n/2], 0)
			batch, tries = batch[n/2:], 0
			continue
		}
		select {
		case <-ctx.Done():
		case <-again.C:
		}
	}
}

// invoke gives records to the publisher and returns how many of them, from the first on, are done with.
func (s *stream) invoke(ctx context.Context, batch []record) int {
	event := struct{ Records []json.RawMessage }{}
	for _, r := range batch {
		event.Records = append(event.Records, r.raw)
	}
	var answer struct {
		Failures []struct {
			Item string `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	if failed, err := s.d.invoke(ctx, "Publisher", event, &answer); failed || err != nil {
		return 0
	}
	for i, r := range batch {
		for _, f := range answer.Failures {
			if f.Item == r.Dynamodb.SequenceNumber {
				return i
			}
		}
	}
	return len(batch)
}
