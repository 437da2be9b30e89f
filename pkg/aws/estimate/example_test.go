package estimate_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/wovyr/wovyr/pkg/aws/estimate"
	"github.com/wovyr/wovyr/pkg/aws/meter"
	"github.com/wovyr/wovyr/pkg/client"
)

// The history is that of client.Client.History, all pages of it: here an execution of one step, in two commits.
func ExampleOf() {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	end := start.Add(50 * time.Millisecond)
	ran := fmt.Sprintf(`{"fence": 1, "worker": "aws/1", "started_at": %d}`, start.Add(49*time.Millisecond).UnixNano())
	history := []client.Event{
		{Type: "WorkflowCreated", Version: 1, At: start, CommitBytes: 300, Data: json.RawMessage(`{"execution": "o-1", "workflow": "order", "tenant": "acme"}`)},
		{Type: "WorkflowStarted", Version: 2, At: start},
		{Type: "ActivityScheduled", Version: 3, At: start, Step: "charge", Attempt: 1},
		{Type: "ActivityStarted", Version: 4, At: end, Step: "charge", Worker: "aws/1", CommitBytes: 200, Data: json.RawMessage(ran)},
		{Type: "ActivityCompleted", Version: 5, At: end, Step: "charge"},
		{Type: "WorkflowCompleted", Version: 6, At: end},
	}
	e, err := estimate.Of(history)
	if err != nil {
		panic(err)
	}
	for _, p := range e.Parts {
		fmt.Printf("%q: %v writes\n", p.Step, p.Units[meter.Write])
	}
	dollars, err := meter.DefaultPrices().Cost(meter.Usage{Units: e.Units()})
	fmt.Printf("%s: %d step, $%.1f per million executions, %v\n", e.Workflow, e.Steps, dollars*1e6, err)
	// Output:
	// "": 4 writes
	// "charge": 2 writes
	// order: 1 step, $9.9 per million executions, <nil>
}
