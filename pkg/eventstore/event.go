package eventstore

import (
	"context"
	"fmt"
)

// Events keep content events for executions that wait for a type and a key, or will (commit protocol, point 12).
type Events interface {
	// PutEvent stores e under the first free number of its topic and returns it with that Number (the given one is ignored).
	// If one of the topic's newest DedupeWindow kept events is the same (Event.Repeats), the newest such is returned and nothing is stored.
	// Kept are, at e.At, the events that expire later; MaxKeptEvents numbers from the oldest kept one on are a *QuotaError, or with
	// e.Sliding let the oldest be forgotten.
	//
	// The numbers of a topic only grow, even after all its events have expired, for executions remember the last they took.
	// In DynamoDB: a strong backward read for the newest number, then a put with attribute_not_exists of the next, again if
	// somebody else took it. The newest event of a topic has no time to live; the put of the next one sets it.
	PutEvent(ctx context.Context, t Topic, e Event) (Event, error)
	// ReadEvents returns the events of a topic with a number above after that are kept at now, oldest first: at most limit
	// (Page.Size) of them, and at most MaxPageBytes or one. It is strongly consistent: whoever subscribes and then reads
	// misses nothing.
	ReadEvents(ctx context.Context, t Topic, after uint64, now int64, limit int) ([]Event, error)
}

// Subscriptions say which executions wait for a topic. They are hints: the waiter reads the events itself.
type Subscriptions interface {
	// Subscribe stores a subscription; the same one again replaces its Expires.
	Subscribe(ctx context.Context, s Subscription) error
	// Unsubscribe removes it. It is not an error if it is not there.
	Unsubscribe(ctx context.Context, s Subscription) error
	// Subscribers returns those of a topic, by execution and waiter, and the cursor of the next page. It is strongly consistent:
	// whoever puts an event and then reads subscribers misses nobody. Those that Expire has yet to remove are among them.
	Subscribers(ctx context.Context, t Topic, p Page) ([]Subscription, string, error)
}

// Topic is what a wait names.
type Topic struct {
	Tenant string
	Type   string // at most MaxType bytes
	Key    string // at most MaxName bytes; may be empty
}

// Event is one content event.
type Event struct {
	Number  uint64 // in its topic, growing
	ID      string // the sender's, for recognizing a repeat
	Source  string // may be empty
	Data    []byte // at most MaxEventData
	At      int64  // when it was received
	Expires int64  // when it is forgotten, later than At
	// Sliding lets a topic that is full forget its oldest events for this one. It is said once, and not read back.
	Sliding bool
	// Before is another ID under which the event may be kept already, received at Since or later; empty: none. They are said once, likewise.
	Before string
	Since  int64
}

// Repeats reports whether an event is the one that was received under an ID at a time.
func (e Event) Repeats(id string, at int64) bool {
	return id == e.ID || e.Before != "" && id == e.Before && at >= e.Since
}

// Stored is an event as it is read back.
func (e Event) Stored() Event {
	e.Sliding, e.Before, e.Since = false, "", 0
	return e
}

// Subscription is one waiting step.
type Subscription struct {
	Topic     Topic
	Execution string // of the topic's tenant
	Waiter    string // the step instance
	Expires   int64  // when it may be forgotten; 0: only by Unsubscribe
}

// String is for messages.
func (t Topic) String() string { return fmt.Sprintf("%s/%s/%s", t.Tenant, t.Type, t.Key) }

// Check returns a *LimitError or *InvalidError for a topic that no store takes.
func (t Topic) Check() error {
	return checks(
		checkName("tenant", t.Tenant, MaxTenant),
		checkName("event type", t.Type, MaxType),
		checkText("event key", t.Key, MaxName),
	)
}

// Check returns a *LimitError or *InvalidError for an event that no store takes.
func (e Event) Check() error {
	if e.Expires <= e.At {
		return &InvalidError{Field: "event", Reason: "it expires before it was received"}
	}
	return checks(
		checkName("event ID", e.ID, MaxName),
		checkText("event source", e.Source, MaxName),
		checkLimit("event data", len(e.Data), MaxEventData),
	)
}

// Check returns a *LimitError or *InvalidError for a subscription that no store takes.
func (s Subscription) Check() error {
	return checks(s.Topic.Check(), checkName("execution", s.Execution, MaxName), checkName("waiter", s.Waiter, MaxName))
}
