package dynamodb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

// Attributes of a content event. Its number is its sort key.
const (
	attrID     = "i"
	attrSource = "o"
	attrAt     = "a"
)

// topicTries is how often a number is tried for that somebody else takes.
const topicTries = 64

// windowKept is how many of the newest events of a topic are remembered: more than are compared, since some may have expired.
const windowKept = 2 * eventstore.DedupeWindow

// topic is what is known of the newest events of a topic, the newest last. If the number after the newest is free, it is the newest.
type topic struct {
	newest []known
	// whole says that the topic has no others.
	whole bool
}

// known is one event as far as the next one cares.
type known struct {
	number  uint64
	id      string
	at      int64
	expires int64
	// lasting says that it has no time to live yet.
	lasting bool
}

var topicSeed = maphash.MakeSeed()

// PutEvent implements eventstore.Events.
func (s *Store) PutEvent(ctx context.Context, t eventstore.Topic, e eventstore.Event) (eventstore.Event, error) {
	if err := s.enter(ctx, cmp.Or(t.Check(), e.Check())); err != nil {
		return eventstore.Event{}, err
	}
	turn := s.turns[maphash.Comparable(topicSeed, t)%uint64(len(s.turns))]
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return eventstore.Event{}, &eventstore.UnavailableError{Op: "put an event", Err: ctx.Err()}
	}
	for try := range topicTries {
		if err := pause(ctx, try); err != nil {
			return eventstore.Event{}, &eventstore.UnavailableError{Op: "put an event", Err: err}
		}
		stored, taken, err := s.putNext(ctx, t, e)
		if !taken {
			return stored, err
		}
		s.topics.Remove(t)
	}
	return eventstore.Event{}, &eventstore.UnavailableError{Op: "put an event", Err: fmt.Errorf("others took the next number of topic %s %d times", t, topicTries)}
}

// putNext puts an event under the number after the newest one. It reports whether somebody else has taken that number.
func (s *Store) putNext(ctx context.Context, t eventstore.Topic, e eventstore.Event) (stored eventstore.Event, taken bool, err error) {
	w, err := s.window(ctx, t, e.At)
	if err != nil {
		return stored, false, err
	}
	if k := w.repeated(e); k != nil {
		stored, err = s.readEvent(ctx, t, k.number)
		// What the window remembers may have been removed meanwhile; then it is read anew, without it.
		return stored, errors.Is(err, eventstore.ErrNotFound), err
	}
	e.Number = 1
	if len(w.newest) > 0 {
		e.Number = w.newest[len(w.newest)-1].number + 1
	}
	if err := s.checkQuota(ctx, t, e); err != nil {
		return stored, false, err
	}
	err = s.put(ctx, "put an event", s.tables.History, eventItem(t, e), absent, nil)
	if stands, refused := refusal(err); refused {
		stored, err = readEvent(stands)
		return stored, stored.ID != e.ID || err != nil, err // its own if the SDK repeated the put
	}
	if err != nil {
		s.topics.Remove(t)
		return stored, false, err
	}
	s.letExpire(ctx, t, w)
	s.remember(t, w, known{e.Number, e.ID, e.At, e.Expires, true})
	if e.Sliding {
		err = s.forget(ctx, t, e.Number)
	}
	e = e.Stored()
	return e, false, err
}

func eventKey(t eventstore.Topic, number uint64) item {
	return key(topicPartition(t), eventSort+ordered(number))
}

// eventItem has no time to live: the newest event of a topic stays, so that numbers only grow.
func eventItem(t eventstore.Topic, e eventstore.Event) item {
	i := eventKey(t, e.Number)
	i.setText(attrID, e.ID)
	i.setText(attrSource, e.Source)
	i.setNumber(attrAt, e.At)
	i[attrExpires] = number(e.Expires)
	i.setBytes(attrData, e.Data)
	return i
}

func readEvent(i item) (e eventstore.Event, err error) {
	e = eventstore.Event{ID: i.text(attrID), Source: i.text(attrSource), At: i.number(attrAt), Expires: i.number(attrExpires), Data: i.bytes(attrData)}
	e.Number, err = parseOrdered(i.text(schema.Sort)[len(eventSort):])
	return e, err
}

// readEvent returns one event, or a *NotFoundError.
func (s *Store) readEvent(ctx context.Context, t eventstore.Topic, number uint64) (eventstore.Event, error) {
	i, err := s.get(ctx, "read an event", nil, s.tables.History, eventKey(t, number))
	if err == nil && i == nil {
		err = &eventstore.NotFoundError{What: "event of topic " + t.String()}
	}
	if err != nil {
		return eventstore.Event{}, err
	}
	return readEvent(i)
}

// window returns the newest events of a topic, as many as must be compared at a time: from memory, or by a strong backward query.
func (s *Store) window(ctx context.Context, t eventstore.Topic, now int64) (*topic, error) {
	if w, ok := s.topics.Get(t); ok && (w.whole || w.kept(now) >= eventstore.DedupeWindow) {
		return w, nil
	}
	w := &topic{whole: true}
	in := s.eventQuery(t, eventSort, eventSort+"~")
	in.ScanIndexForward, in.Limit = aws.Bool(false), aws.Int32(windowKept)
	in.ProjectionExpression = aws.String("s, i, a, e, x")
	err := s.read(ctx, "read the newest events", nil, func() error {
		return s.query(ctx, in, func(i item) (bool, error) {
			e, err := readEvent(i)
			if err != nil {
				return false, err
			}
			w.newest = append(w.newest, known{e.Number, e.ID, e.At, e.Expires, !i.has(schema.Expires)})
			w.whole = w.kept(now) < eventstore.DedupeWindow
			return w.whole, nil
		})
	})
	slices.Reverse(w.newest)
	return w, err
}

func (w *topic) kept(now int64) int {
	n := 0
	for _, k := range w.newest {
		if k.expires > now {
			n++
		}
	}
	return n
}

// repeated returns the same event among the newest kept ones that are compared.
func (w *topic) repeated(e eventstore.Event) *known {
	for i, left := len(w.newest)-1, eventstore.DedupeWindow; i >= 0 && left > 0; i-- {
		if k := &w.newest[i]; k.expires > e.At {
			if left--; e.Repeats(k.id, k.at) {
				return k
			}
		}
	}
	return nil
}

// remember keeps what is known after an event was put.
func (s *Store) remember(t eventstore.Topic, w *topic, k known) {
	w.newest = append(w.newest, k)
	if more := len(w.newest) - windowKept; more > 0 {
		w.newest, w.whole = slices.Clone(w.newest[more:]), false
	}
	s.topics.Add(t, w)
}

// letExpire gives the events before the newest a time to live. One that it fails for keeps its mark, and is tried again with the next
// event; until then it only stays for longer.
func (s *Store) letExpire(ctx context.Context, t eventstore.Topic, w *topic) {
	for i := range w.newest {
		k := &w.newest[i]
		if !k.lasting {
			continue
		}
		err := s.write(ctx, "let an event expire", func(ctx context.Context) error {
			_, err := s.db.UpdateItem(ctx, &sdk.UpdateItemInput{
				TableName: &s.tables.History, Key: eventKey(t, k.number), UpdateExpression: aws.String("SET x = :x"),
				ConditionExpression: aws.String("attribute_exists(p)"), ExpressionAttributeValues: item{":x": number(seconds(k.expires))},
			})
			return err
		})
		_, gone := refusal(err)
		k.lasting = err != nil && !gone
	}
}

// eventQuery asks for the events of a topic between two sort keys, both included.
func (s *Store) eventQuery(t eventstore.Topic, from, to string) *sdk.QueryInput {
	return &sdk.QueryInput{
		TableName: &s.tables.History, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("p = :p AND s BETWEEN :from AND :to"),
		ExpressionAttributeValues: item{":p": text(topicPartition(t)), ":from": text(from), ":to": text(to)},
	}
}

// tooOld asks for the events that must not be kept beside one with a number; nil if there can be none.
func (s *Store) tooOld(t eventstore.Topic, number uint64) *sdk.QueryInput {
	if number <= eventstore.MaxKeptEvents {
		return nil
	}
	in := s.eventQuery(t, eventSort, eventSort+ordered(number-eventstore.MaxKeptEvents))
	in.ProjectionExpression = aws.String("s")
	return in
}

// checkQuota refuses an event beside which one would be kept that is too old.
func (s *Store) checkQuota(ctx context.Context, t eventstore.Topic, e eventstore.Event) error {
	in := s.tooOld(t, e.Number)
	if in == nil || e.Sliding {
		return nil
	}
	in.FilterExpression, in.ExpressionAttributeValues[":now"] = aws.String("e > :now"), number(e.At)
	return s.read(ctx, "read the oldest events", nil, func() error {
		return s.query(ctx, in, func(item) (bool, error) {
			return false, &eventstore.QuotaError{Topic: t, Limit: eventstore.MaxKeptEvents}
		})
	})
}

// forget removes the events that are too old beside one with a number.
func (s *Store) forget(ctx context.Context, t eventstore.Topic, number uint64) error {
	in := s.tooOld(t, number)
	if in == nil {
		return nil
	}
	var old []item
	err := s.read(ctx, "read the oldest events", nil, func() error {
		return s.query(ctx, in, func(i item) (bool, error) {
			old = append(old, key(topicPartition(t), i.text(schema.Sort)))
			return true, nil
		})
	})
	if err != nil {
		return err
	}
	return s.remove(ctx, "forget events", old)
}

// ReadEvents implements eventstore.Events.
func (s *Store) ReadEvents(ctx context.Context, t eventstore.Topic, after uint64, now int64, limit int) ([]eventstore.Event, error) {
	limit, wrong := eventstore.Page{Limit: limit}.Size()
	in := s.eventQuery(t, eventSort+ordered(min(after, eventstore.MaxSequence)+1), eventSort+"~")
	in.FilterExpression, in.ExpressionAttributeValues[":now"] = aws.String("e > :now"), number(now)
	in.Limit = aws.Int32(int32(max(limit, 1)))
	var page []eventstore.Event
	size := 0
	err := s.enter(ctx, cmp.Or(t.Check(), wrong))
	if err != nil {
		return nil, err
	}
	err = s.read(ctx, "read events", nil, func() error {
		return s.query(ctx, in, func(i item) (bool, error) {
			e, err := readEvent(i)
			if size += len(e.Data); err != nil || size > eventstore.MaxPageBytes && len(page) > 0 {
				return false, err
			}
			page = append(page, e)
			return len(page) < limit, nil
		})
	})
	return page, err
}

// Attributes of a subscription.
const (
	attrExecution = "n"
	attrWaiter    = "w"
)

// Subscribe implements eventstore.Subscriptions.
func (s *Store) Subscribe(ctx context.Context, sub eventstore.Subscription) error {
	if err := s.enter(ctx, sub.Check()); err != nil {
		return err
	}
	i := key(topicPartition(sub.Topic), subscriptionKey(sub))
	i.setText(attrExecution, sub.Execution)
	i.setText(attrWaiter, sub.Waiter)
	i.setExpires(sub.Expires)
	return s.put(ctx, "subscribe", s.tables.History, i, "", nil)
}

// Unsubscribe implements eventstore.Subscriptions.
func (s *Store) Unsubscribe(ctx context.Context, sub eventstore.Subscription) error {
	if err := s.enter(ctx, sub.Check()); err != nil {
		return err
	}
	return s.write(ctx, "unsubscribe", func(ctx context.Context) error {
		_, err := s.db.DeleteItem(ctx, &sdk.DeleteItemInput{TableName: &s.tables.History, Key: key(topicPartition(sub.Topic), subscriptionKey(sub))})
		return err
	})
}

// Subscribers implements eventstore.Subscriptions.
func (s *Store) Subscribers(ctx context.Context, t eventstore.Topic, p eventstore.Page) ([]eventstore.Subscription, string, error) {
	limit, wrong := p.Size()
	from := subscriptionSort
	if p.Cursor != "" && wrong == nil {
		_, last, err := eventstore.ParseCursor(p.Cursor, 2)
		if wrong = err; err == nil {
			from = subscriptionKey(eventstore.Subscription{Execution: last[0], Waiter: last[1]}) + "\x00"
		}
	}
	if err := s.enter(ctx, cmp.Or(t.Check(), wrong)); err != nil {
		return nil, "", err
	}
	in := s.eventQuery(t, from, afterSubscriptions)
	in.Limit = aws.Int32(int32(limit + 1))
	var page []eventstore.Subscription
	err := s.read(ctx, "read subscribers", nil, func() error {
		return s.query(ctx, in, func(i item) (bool, error) {
			page = append(page, eventstore.Subscription{Topic: t, Execution: i.text(attrExecution), Waiter: i.text(attrWaiter), Expires: i.number(attrExpires)})
			return len(page) <= limit, nil
		})
	})
	if err != nil || len(page) <= limit {
		return page, "", err
	}
	page = page[:limit]
	return page, eventstore.NewCursor(0, page[limit-1].Execution, page[limit-1].Waiter), nil
}
