package aws

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb"
	"github.com/wovyr/wovyr/pkg/workflow"
	"github.com/wovyr/wovyr/pkg/workflow/codec"
)

// detailTypes are the lifecycle events that go out, with the detail-type that subscribers match. Of single steps only the rare one does that tells
// of a recovery: a deployment would pay for an event a transition.
var detailTypes = map[workflow.EventType]string{
	workflow.TypeWorkflowStarted:       "Execution Started",
	workflow.TypeWorkflowCompleted:     "Execution Completed",
	workflow.TypeWorkflowFailed:        "Execution Failed",
	workflow.TypeWorkflowCancelled:     "Execution Cancelled",
	workflow.TypeCompensationStarted:   "Execution Compensating",
	workflow.TypeCompensationCompleted: "Execution Compensated",
	workflow.TypeLeaseExpired:          "Attempt Lost",
}

// announces implements worker.Worker.Announces.
func announces(e workflow.Event) bool {
	_, ok := detailTypes[e.Type()]
	return ok
}

// Detail is the detail of an event on the bus.
type Detail struct {
	Tenant    string `json:"tenant"`
	Execution string `json:"execution_id"`
	Workflow  string `json:"workflow"`
	// Version is the sequence number of the event: subscribers order by it, and drop what they have seen.
	Version     uint64 `json:"version"`
	At          string `json:"at"`
	Correlation string `json:"correlation_id,omitempty"`
	// Type is that of an emitted event whose type is too long for a detail-type: such an event goes out as DetailEvent.
	Type string `json:"type,omitempty"`
	// Step is whose attempt was lost.
	Step  string          `json:"step,omitempty"`
	Key   string          `json:"key,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
	Error *workflow.Error `json:"error,omitempty"`
	// Head is the hash of the commit that holds the event: who keeps it can tell a history that was rewritten later (docs/store.md).
	Head string `json:"head"`
}

// announcement is what a commit says to the outside.
type announcement struct {
	entries []types.PutEventsRequestEntry
	metrics []metric
}

// announce puts the lifecycle events of a commit, and the events that it emitted, on the bus, and counts them. It may happen more than once: an
// event is the same each time, told by its resource (execution and sequence number).
func (p *Platform) announce(ctx context.Context, c dynamodb.Change) error {
	a, err := p.announcement(c)
	if err != nil {
		return err
	}
	for len(a.entries) > 0 {
		n := fits(a.entries)
		if err := p.putEvents(ctx, a.entries[:n]); err != nil {
			return err
		}
		a.entries = a.entries[n:]
	}
	if len(a.metrics) > 0 { // last, so that what is tried again is counted once
		p.metrics.count(a.metrics...)
	}
	return nil
}

// putTries is how often events are put that the bus did not take.
const putTries = 3

// putEvents puts events that fit into one call; those that the bus did not take are put again.
func (p *Platform) putEvents(ctx context.Context, entries []types.PutEventsRequestEntry) error {
	for try := 1; ; try++ {
		out, err := p.events.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: entries})
		if err != nil {
			return passing("put events", err)
		}
		var left []types.PutEventsRequestEntry
		var cause error
		for i, e := range out.Entries {
			if e.ErrorCode == nil {
				continue
			}
			left, cause = append(left, entries[i]), fmt.Errorf("%s: %s", *e.ErrorCode, sdk.ToString(e.ErrorMessage))
			if strings.HasPrefix(*e.ErrorCode, "Invalid") || strings.HasPrefix(*e.ErrorCode, "Malformed") {
				return fmt.Errorf("aws: the bus refuses an event of type %q: %w", *entries[i].DetailType, cause)
			}
		}
		switch {
		case out.FailedEntryCount == 0:
			return nil
		case len(left) == 0:
			return passing("put events", fmt.Errorf("%d of %d were not taken, and the bus did not say which", out.FailedEntryCount, len(entries)))
		case try == putTries:
			return passing("put events", cause)
		}
		entries = left
	}
}

// fits is how many events go out in one call.
func fits(entries []types.PutEventsRequestEntry) int {
	return fitting(len(entries), func(i int) int { return len(*entries[i].Detail) + len(*entries[i].DetailType) + entryBytes })
}

func (p *Platform) announcement(change dynamodb.Change) (announcement, error) {
	a := announcement{metrics: metricsOf(change)}
	s, c := change.Stream, change.Commit
	b, err := codec.Decode(c.Data)
	if err != nil {
		return a, fmt.Errorf("aws: events of %s at %d: %w", s, c.First, err)
	}
	head := c.Hash(s).String()
	for _, r := range b.Recorded(c.First) {
		d := Detail{Tenant: s.Tenant, Execution: s.ID, Workflow: b.Workflow, Version: r.Version, At: time.Unix(0, r.At).UTC().Format(time.RFC3339Nano), Correlation: b.Correlation, Head: head}
		kind, lifecycle := detailTypes[r.Event.Type()]
		switch e := r.Event.(type) {
		case workflow.EventEmitted:
			if kind, d.Key = e.Kind, e.Key; utf8.RuneCountInString(kind) > maxDetailType {
				kind, d.Type = DetailEvent, kind
			}
			if len(e.Data.Holes) == 0 {
				d.Data = json.RawMessage(e.Data.JSON)
			}
		case workflow.LeaseExpired:
			d.Step = e.Step
		case workflow.WorkflowFailed:
			d.Error = e.Error
		case workflow.WorkflowCancelled:
			d.Error = e.Error
		default:
			if !lifecycle {
				continue
			}
		}
		detail, err := encodeBody(d)
		if err != nil {
			return a, fmt.Errorf("aws: event %s of %s: %w", kind, s, err)
		}
		if len(detail) > maxDetail {
			d.Data = nil
			if d.Error != nil { // of an error so large, its code is left
				d.Error = &workflow.Error{Code: d.Error.Code, Category: d.Error.Category, Message: "the error is too large for an event: read it from the API"}
			}
			if detail, err = encodeBody(d); err != nil {
				return a, fmt.Errorf("aws: event %s of %s: %w", kind, s, err)
			}
		}
		a.entries = append(a.entries, types.PutEventsRequestEntry{
			EventBusName: &p.config.Bus, Source: sdk.String(stack.EventSource), DetailType: &kind, Detail: &detail, Time: sdk.Time(time.Unix(0, r.At)),
			Resources: []string{"wovyr:" + s.Tenant + ":" + s.ID + "@" + strconv.FormatUint(r.Version, 10)},
		})
	}
	return a, nil
}

// maxDetail is the most bytes of an event's detail; the service takes 256 KiB with all that surrounds it. A larger event goes out without its
// data: executions that wait for it have that, subscribers read it from the API.
const maxDetail = 200 << 10

// maxDetailType is the most characters of a detail-type.
const maxDetailType = 128

// metricsOf is what a commit adds to the metrics: an execution counts once when it starts, and once when it has ended for good, however many
// failures and compensations led there.
func metricsOf(c dynamodb.Change) []metric {
	var out []metric
	if c.Commit.First == 1 {
		out = append(out, metric{stack.MetricStarted, 1, "Count"})
	}
	if c.Row == nil || c.Row.Open { // a commit that left no room for its row does not tell
		return out
	}
	ended := stack.MetricFailed
	if c.Row.Outcome == string(workflow.OutcomeCompleted) {
		ended = stack.MetricCompleted
	}
	return append(out, metric{ended, 1, "Count"}, metric{stack.MetricDuration, float64(c.Row.Updated-c.Row.Started) / float64(time.Millisecond), "Milliseconds"})
}
