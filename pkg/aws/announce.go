package aws

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
	"github.com/wovyr/wovyr/pkg/workflow/codec"
)

// detailTypes are the lifecycle events that go out, with the detail-type that subscribers match. Those of single steps do not: a deployment
// would pay for an event a transition.
var detailTypes = map[workflow.EventType]string{
	workflow.TypeWorkflowStarted:       "Execution Started",
	workflow.TypeWorkflowCompleted:     "Execution Completed",
	workflow.TypeWorkflowFailed:        "Execution Failed",
	workflow.TypeWorkflowCancelled:     "Execution Cancelled",
	workflow.TypeCompensationStarted:   "Execution Compensating",
	workflow.TypeCompensationCompleted: "Execution Compensated",
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
	Version     uint64          `json:"version"`
	At          string          `json:"at"`
	Correlation string          `json:"correlation_id,omitempty"`
	Key         string          `json:"key,omitempty"`
	Data        json.RawMessage `json:"data,omitempty"`
	Error       *workflow.Error `json:"error,omitempty"`
	// Head is the hash of the commit that holds the event: who keeps it can tell a history that was rewritten later (docs/store.md).
	Head string `json:"head"`
}

// announcement is what a commit says to the outside.
type announcement struct {
	entries []types.PutEventsRequestEntry
	metrics []metric
}

// announce puts the lifecycle events of a commit, and the events that it emitted, on the bus.
func (p *Platform) announce(ctx context.Context, s eventstore.Stream, c eventstore.Commit) error {
	a, err := p.announcement(s, c)
	if err != nil {
		return err
	}
	if len(a.metrics) > 0 {
		p.metrics.count(a.metrics...)
	}
	for len(a.entries) > 0 {
		n := fits(a.entries)
		out, err := p.events.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: a.entries[:n]})
		if err != nil {
			return passing("put events", err)
		}
		if out.FailedEntryCount > 0 {
			return passing("put events", firstFailure(out))
		}
		a.entries = a.entries[n:]
	}
	return nil
}

// fits is how many events go out in one call.
func fits(entries []types.PutEventsRequestEntry) int {
	return fitting(len(entries), func(i int) int { return len(*entries[i].Detail) + len(*entries[i].DetailType) + entryBytes })
}

func firstFailure(out *eventbridge.PutEventsOutput) error {
	for _, e := range out.Entries {
		if e.ErrorCode != nil {
			return fmt.Errorf("%s: %s", *e.ErrorCode, sdk.ToString(e.ErrorMessage))
		}
	}
	return errors.New("the bus did not say why")
}

func (p *Platform) announcement(s eventstore.Stream, c eventstore.Commit) (announcement, error) {
	var a announcement
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
			if kind, d.Key = e.Kind, e.Key; len(e.Data.Holes) == 0 {
				d.Data = json.RawMessage(e.Data.JSON)
			}
		case workflow.WorkflowFailed:
			d.Error = e.Error
		case workflow.WorkflowCancelled:
			d.Error = e.Error
		default:
			if !lifecycle {
				continue
			}
		}
		a.metrics = append(a.metrics, metricsOf(r.Event)...)
		detail, err := json.Marshal(d)
		if err != nil {
			return a, fmt.Errorf("aws: event %s of %s: %w", kind, s, err)
		}
		if len(detail) > maxDetail {
			d.Data = nil
			if d.Error != nil { // of an error so large, its code is left
				d.Error = &workflow.Error{Code: d.Error.Code, Category: d.Error.Category, Message: "the error is too large for an event: read it from the API"}
			}
			if detail, err = json.Marshal(d); err != nil {
				return a, fmt.Errorf("aws: event %s of %s: %w", kind, s, err)
			}
		}
		a.entries = append(a.entries, types.PutEventsRequestEntry{
			EventBusName: &p.config.Bus, Source: sdk.String(stack.EventSource), DetailType: &kind, Detail: sdk.String(string(detail)), Time: sdk.Time(time.Unix(0, r.At)),
			Resources: []string{"wovyr:" + s.Tenant + ":" + s.ID + "@" + strconv.FormatUint(r.Version, 10)},
		})
	}
	return a, nil
}

// maxDetail is the most bytes of an event's detail; the service takes 256 KiB with all that surrounds it. A larger event goes out without its
// data: executions that wait for it have that, subscribers read it from the API.
const maxDetail = 200 << 10

func metricsOf(e workflow.Event) []metric {
	switch e.(type) {
	case workflow.WorkflowStarted:
		return []metric{{stack.MetricStarted, 1, "Count"}}
	case workflow.WorkflowCompleted, workflow.CompensationCompleted:
		return []metric{{stack.MetricCompleted, 1, "Count"}}
	case workflow.WorkflowFailed, workflow.WorkflowCancelled:
		return []metric{{stack.MetricFailed, 1, "Count"}}
	}
	return nil
}
