package dynamodb_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb"
)

// fault is what happens to one request between the SDK and the emulator.
type fault int

const (
	none        fault = iota
	throttled         // refused by DynamoDB: nothing is written
	broken            // DynamoDB says that it failed, and has not written
	brokenAfter       // DynamoDB says that it failed, and has written
	lostRequest       // never arrives
	lostAnswer        // is carried out; the answer is lost
	cutAnswer         // is carried out; the answer breaks off
	intruder          // another writer is faster; then the request arrives
)

var allFaults = []fault{none, throttled, broken, brokenAfter, lostRequest, lostAnswer, cutAnswer}

func (f fault) String() string {
	return [...]string{"none", "throttled", "broken", "broken after", "request lost", "answer lost", "answer cut", "intruder"}[f]
}

// attempts is how often the SDK sends a request.
const attempts = 3

// faulty is middleware of the SDK, right above the network, in which requests of one operation suffer the faults of a plan, one after the
// other, and none after the last.
type faulty struct {
	operation string
	intrude   func()

	mu   sync.Mutex
	plan []fault
	seen int
}

func (f *faulty) set(plan ...fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plan, f.seen = plan, 0
}

func (f *faulty) next() fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen++
	if len(f.plan) == 0 {
		return none
	}
	next := f.plan[0]
	f.plan = f.plan[1:]
	return next
}

func (f *faulty) options(o *sdk.Options) {
	o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.RateLimiter = attempts, ratelimit.None
		o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
	})
	o.APIOptions = append(o.APIOptions, func(s *middleware.Stack) error {
		return s.Deserialize.Add(middleware.DeserializeMiddlewareFunc("Faults", f.handle), middleware.After)
	})
}

var errLost = errors.New("connection reset")

func (f *faulty) handle(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (out middleware.DeserializeOutput, m middleware.Metadata, err error) {
	if middleware.GetOperationName(ctx) != f.operation {
		return next.HandleDeserialize(ctx, in)
	}
	switch f.next() {
	case throttled:
		return answer(http.StatusBadRequest, "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"), m, nil
	case broken:
		return answer(http.StatusInternalServerError, "com.amazonaws.dynamodb.v20120810#InternalServerError"), m, nil
	case brokenAfter:
		if _, m, err = next.HandleDeserialize(ctx, in); err != nil {
			return out, m, err
		}
		return answer(http.StatusInternalServerError, "com.amazonaws.dynamodb.v20120810#InternalServerError"), m, nil
	case lostRequest:
		return out, m, &smithyhttp.RequestSendError{Err: errLost}
	case lostAnswer:
		if _, m, err = next.HandleDeserialize(ctx, in); err != nil {
			return out, m, err
		}
		return out, m, &smithyhttp.RequestSendError{Err: errLost}
	case cutAnswer:
		if out, m, err = next.HandleDeserialize(ctx, in); err == nil {
			response := out.RawResponse.(*smithyhttp.Response)
			response.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"It`), readError{errLost}))
			response.Header.Del("X-Amz-Crc32")
		}
		return out, m, err
	case intruder:
		f.intrude()
	}
	return next.HandleDeserialize(ctx, in)
}

type readError struct{ err error }

func (r readError) Read([]byte) (int, error) { return 0, r.err }

func answer(status int, code string) middleware.DeserializeOutput {
	return middleware.DeserializeOutput{RawResponse: &smithyhttp.Response{Response: &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(fmt.Sprintf(`{"__type":%q,"message":"injected"}`, code))),
	}}}
}

var stream = eventstore.Stream{Tenant: "acme", ID: "order-1"}

func commit(first uint64, n byte) eventstore.Commit {
	return eventstore.Commit{First: first, Last: first, Nonce: eventstore.Nonce{n}, Data: []byte{n}}
}

// TestAppendUnderFaults says what a writer is told, and what stands there, after each kind of mishap.
func TestAppendUnderFaults(t *testing.T) {
	f := &faulty{operation: "PutItem"}
	w := newWorld(t, f.options)
	s := w.open(dynamodb.Options{})
	conflict := errors.New("a conflict")
	for i, test := range []struct {
		name string
		plan []fault
		want error
		// stands is whose commit stands there: 1 this writer's, 2 the intruder's, 0 nobody's.
		stands byte
		seen   int
	}{
		{"no fault", nil, nil, 1, 1},
		{"throttled once", []fault{throttled}, nil, 1, 2},
		{"throttled to the end", []fault{throttled, throttled, throttled}, eventstore.ErrUnavailable, 0, 3},
		{"the SDK repeats a put that had succeeded", []fault{lostAnswer}, nil, 1, 2},
		{"it says it failed, but it had succeeded", []fault{brokenAfter}, nil, 1, 2},
		{"the answer breaks off", []fault{cutAnswer, throttled, throttled}, eventstore.ErrUnknownOutcome, 1, 3},
		{"answer lost to the end", []fault{lostAnswer, lostRequest, lostRequest}, eventstore.ErrUnknownOutcome, 1, 3},
		{"request lost to the end", []fault{lostRequest, lostRequest, lostRequest}, eventstore.ErrUnknownOutcome, 0, 3},
		{"request lost, then throttled", []fault{lostRequest, throttled, throttled}, eventstore.ErrUnknownOutcome, 0, 3},
		{"answer lost, then throttled", []fault{lostAnswer, throttled, throttled}, eventstore.ErrUnknownOutcome, 1, 3},
		{"broken to the end", []fault{broken, broken, broken}, eventstore.ErrUnknownOutcome, 0, 3},
		{"another writer is faster", []fault{intruder}, conflict, 2, 1},
		{"request lost, another writer is faster", []fault{lostRequest, intruder}, conflict, 2, 2},
		{"throttled, another writer is faster", []fault{throttled, intruder}, conflict, 2, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			id := eventstore.Stream{Tenant: "acme", ID: fmt.Sprint("order-", i)}
			f.intrude = func() {
				_, err := sdk.NewFromConfig(w.config).PutItem(t.Context(), &sdk.PutItemInput{TableName: &w.tables.History, Item: dynamodb.CommitItem(id, commit(1, 2))})
				require.NoError(t, err)
			}
			f.set(test.plan...)
			err := s.Append(t.Context(), id, commit(1, 1), nil)
			require.Equal(t, test.seen, f.seen, "requests")
			f.set()
			switch test.want {
			case nil:
				require.NoError(t, err)
			case conflict:
				require.Equal(t, &eventstore.ConflictError{What: "history " + id.String(), Actual: 1}, err)
			default:
				require.ErrorIs(t, err, test.want)
				require.Equal(t, test.want == eventstore.ErrUnavailable, errors.Is(err, eventstore.ErrUnavailable), "it is one or the other")
			}
			stored, err := s.ReadCommit(t.Context(), id, 1)
			if test.stands == 0 {
				require.ErrorIs(t, err, eventstore.ErrNotFound)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.stands, stored.Nonce[0])
		})
	}
}

// TestEndedWhileUnderWay ends the context while the request is under way: the writer must not believe that nothing was written.
func TestEndedWhileUnderWay(t *testing.T) {
	f := &faulty{operation: "PutItem"}
	w := newWorld(t, f.options)
	s := w.open(dynamodb.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	f.intrude = cancel
	f.set(intruder)
	err := s.Append(ctx, stream, commit(1, 1), nil)
	require.ErrorIs(t, err, eventstore.ErrUnknownOutcome)
	require.ErrorIs(t, err, context.Canceled)
}

// TestNobodyListens tells a writer that nothing was written where nothing was sent.
func TestNobodyListens(t *testing.T) {
	w := newWorld(t)
	away := sdk.NewFromConfig(w.config, func(o *sdk.Options) { o.BaseEndpoint = aws.String("http://127.0.0.1:1") }, (&faulty{}).options)
	err := dynamodb.New(away, w.tables, dynamodb.Options{}).Append(t.Context(), stream, commit(1, 1), nil)
	require.ErrorIs(t, err, eventstore.ErrUnavailable)
	require.NotErrorIs(t, err, eventstore.ErrUnknownOutcome)
}

// TestSurelyUnderFaults lets writers that believe what they are told suffer random faults of single requests. What AppendSurely says must be true:
// nil, the commit is in the history; a conflict or unavailable, it is not and never will be.
func TestSurelyUnderFaults(t *testing.T) {
	f := &faulty{operation: "PutItem"}
	w := newWorld(t, f.options)
	s := w.open(dynamodb.Options{})
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		id := eventstore.Stream{Tenant: "acme", ID: fmt.Sprint("property-", n)}
		said := map[byte]error{}
		head := uint64(0)
		for i := range byte(rapid.IntRange(1, 8).Draw(r, "commits")) {
			c := commit(head+1, i+1)
			f.set(rapid.SliceOfN(rapid.SampledFrom(allFaults), 0, 8).Draw(r, "faults")...)
			said[c.Nonce[0]] = eventstore.AppendSurely(r.Context(), s, id, c, nil, eventstore.Patience{Tries: rapid.IntRange(1, 4).Draw(r, "tries")})
			f.set()
			if said[c.Nonce[0]] == nil || rapid.Bool().Draw(r, "look") {
				var err error
				head, err = s.Head(r.Context(), id)
				require.NoError(r, err)
			}
		}
		tail, err := s.Tail(r.Context(), id)
		require.NoError(r, err)
		times := map[byte]int{}
		for _, c := range tail {
			times[c.Nonce[0]]++
		}
		for nonce, err := range said {
			var conflict *eventstore.ConflictError
			switch {
			case err == nil:
				require.Equal(r, 1, times[nonce], "said to be stored")
			case errors.Is(err, eventstore.ErrUnknownOutcome):
				require.LessOrEqual(r, times[nonce], 1)
			default:
				require.True(r, errors.As(err, &conflict) || errors.Is(err, eventstore.ErrUnavailable), "%v", err)
				require.Zero(r, times[nonce], "said not to be stored: %v", err)
			}
		}
	})
}

// TestEveryWriteMayBeRepeated loses the answer of each kind of write once, and expects the same answer as without that.
func TestEveryWriteMayBeRepeated(t *testing.T) {
	ctx := t.Context()
	k := eventstore.ClaimKey{Stream: stream, Attempt: "charge/1", Fence: 1}
	claim := eventstore.Claim{Owner: "receive-1", Until: 50, Limit: 100}
	topic := eventstore.Topic{Tenant: "acme", Type: "paid", Key: "order-1"}
	event := eventstore.Event{ID: "e", Number: 1, At: 5, Expires: 100}
	definition := eventstore.Definition{Tenant: "acme", Workflow: "order", Version: 1, Bytes: []byte("x")}
	for name, test := range map[string]struct {
		operation string
		write     func(*dynamodb.Store) (any, error)
		want      any
	}{
		"claim":  {"PutItem", func(s *dynamodb.Store) (any, error) { return s.Claim(ctx, k, claim) }, claim},
		"extend": {"UpdateItem", func(s *dynamodb.Store) (any, error) { return s.Extend(ctx, k, claim, 70) }, eventstore.Claim{Owner: "receive-1", Until: 70, Limit: 100}},
		"end": {"UpdateItem", func(s *dynamodb.Store) (any, error) {
			if err := s.End(ctx, k, 90); err != nil {
				return nil, err
			}
			return s.ReadClaim(ctx, k)
		}, eventstore.Claim{Owner: eventstore.Ended, Expires: 90}},
		"event": {"PutItem", func(s *dynamodb.Store) (any, error) { return s.PutEvent(ctx, topic, event) }, event},
		"definition": {"PutItem", func(s *dynamodb.Store) (any, error) {
			if err := s.PutDefinition(ctx, definition); err != nil {
				return nil, err
			}
			return s.Definition(ctx, "acme", "order", 0)
		}, definition},
		"alias": {"PutItem", func(s *dynamodb.Store) (any, error) {
			return nil, s.PutAlias(ctx, eventstore.Alias{Tenant: "acme", Workflow: "order", Name: "live", Revision: 1, Targets: []eventstore.Target{{Version: 1}}})
		}, nil},
		"dead letter": {"TransactWriteItems", func(s *dynamodb.Store) (any, error) {
			return nil, s.PutDeadLetter(ctx, eventstore.DeadLetter{Tenant: "acme", ID: "m", At: 5})
		}, nil},
		"subscription": {"PutItem", func(s *dynamodb.Store) (any, error) {
			return nil, s.Subscribe(ctx, eventstore.Subscription{Topic: topic, Execution: "e", Waiter: "w"})
		}, nil},
	} {
		for _, lost := range []fault{lostAnswer, brokenAfter, throttled} {
			t.Run(name+", "+lost.String(), func(t *testing.T) {
				f := &faulty{operation: test.operation}
				w := newWorld(t, f.options)
				s := w.open(dynamodb.Options{})
				if name == "extend" {
					_, err := s.Claim(ctx, k, claim)
					require.NoError(t, err)
				}
				f.set(lost)
				got, err := test.write(s)
				require.NoError(t, err)
				require.GreaterOrEqual(t, f.seen, 2)
				require.Equal(t, test.want, got)
				got, err = test.write(s)
				require.NoError(t, err, "and once more, by the caller")
				require.Equal(t, test.want, got)
			})
		}
	}
}
