package deployment

import (
	"encoding/base64"
	"encoding/json"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

// stream is the history table's stream, with its event source mapping: lanes by partition key, each with one batch at a time.
type stream struct {
	d       *Deployment
	filters []map[string]any
	lanes   []*lane
}

type lane struct {
	mu      sync.Mutex
	records []record
	number  int
	// waits says that a batch is to be handed over after the window, or is.
	waits bool
}

// record is one change as the stream tells of it.
type record struct {
	number string
	body   map[string]any
}

func newStream(d *Deployment) *stream {
	s := &stream{d: d}
	var pattern map[string]any
	require.NoError(d.t, json.Unmarshal([]byte(schema.StreamFilter), &pattern))
	s.filters = append(s.filters, pattern)
	for range streamShards * parallelism {
		s.lanes = append(s.lanes, &lane{})
	}
	return s
}

// record takes a new item, unless the mapping's filter drops it.
func (s *stream) record(item map[string]types.AttributeValue) {
	image := map[string]any{}
	for name, v := range item { // order-free: a map again
		image[name] = imageOf(v)
	}
	keys := map[string]any{schema.Partition: image[schema.Partition], schema.Sort: image[schema.Sort]}
	body := map[string]any{"eventSource": "aws:dynamodb", "eventName": "INSERT", "dynamodb": map[string]any{"Keys": keys, "NewImage": image}}
	if !slices.ContainsFunc(s.filters, func(f map[string]any) bool { return matches(f, body) }) {
		return
	}
	h := fnv.New32a()
	h.Write([]byte(item[schema.Partition].(*types.AttributeValueMemberS).Value))
	l := s.lanes[int(h.Sum32())%len(s.lanes)]
	l.mu.Lock()
	defer l.mu.Unlock()
	l.number++
	number := strconv.Itoa(l.number)
	body["dynamodb"].(map[string]any)["SequenceNumber"], body["eventID"] = number, number
	l.records = append(l.records, record{number, body})
	if !l.waits {
		l.waits = true
		done := s.d.under()
		go func() {
			defer done()
			s.hand(l)
		}()
	}
}

// hand hands batches to the publisher, each after the window that opens with its first record.
func (s *stream) hand(l *lane) {
	for {
		time.Sleep(s.d.dice.draw(streamDelay) + stack.StreamWindow)
		l.mu.Lock()
		n := min(len(l.records), stack.StreamBatch)
		batch := l.records[:n:n]
		l.records = l.records[n:]
		if n == 0 {
			l.waits = false
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		bodies := make([]any, n)
		for i, r := range batch {
			bodies[i] = r.body
		}
		out, err := s.d.functions[functionPublisher].invoke(map[string]any{"Records": bodies})
		require.NoError(s.d.t, err)
		answer := out.(events.DynamoDBEventResponse)
		require.Empty(s.d.t, answer.BatchItemFailures, "nothing here makes the publisher fail")
	}
}

// imageOf is a value as a stream's record has it.
func imageOf(v types.AttributeValue) any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": v.Value}
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}
	case *types.AttributeValueMemberB:
		return map[string]any{"B": base64.StdEncoding.EncodeToString(v.Value)}
	case *types.AttributeValueMemberBOOL:
		return map[string]any{"BOOL": v.Value}
	}
	panic("deployment: the history table has a value of a kind that the stream does not know") // a new one wants a line above
}

// matches reports whether a value fits a pattern of an event source mapping's filter: exact values, {"prefix"} and {"exists"}.
func matches(pattern, value any) bool {
	switch pattern := pattern.(type) {
	case map[string]any:
		fields, _ := value.(map[string]any)
		for name, p := range pattern { // order-free: all of them must fit
			if !matches(p, fields[name]) {
				return false
			}
		}
		return true
	case []any:
		return slices.ContainsFunc(pattern, func(p any) bool { return fits(p, value) })
	}
	return false
}

func fits(pattern, value any) bool {
	rule, is := pattern.(map[string]any)
	if !is {
		return pattern == value
	}
	if exists, is := rule["exists"].(bool); is {
		return exists == (value != nil)
	}
	text, _ := value.(string)
	prefix, is := rule["prefix"].(string)
	return is && strings.HasPrefix(text, prefix)
}
