package meter_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/emulator"
	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/aws/meter"
	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/eventstore"
	store "github.com/wovyr/wovyr/pkg/eventstore/dynamodb"
	"github.com/wovyr/wovyr/pkg/eventstore/memory"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/worker/machine"
	"github.com/wovyr/wovyr/pkg/workflow"
)

func row(version uint64, status string) eventstore.Row {
	return eventstore.Row{Stream: eventstore.Stream{Tenant: "acme", ID: "order-1"}, Workflow: "order", Definition: 1, Started: 5, Version: version, Status: status, Open: true, Updated: int64(version)}
}

// queues are those of a platform, in a test's own hands.
type queues struct {
	tasks    []worker.Task
	messages []worker.Message
}

type inbox struct{ q *queues }

func (i inbox) Send(_ context.Context, m ...worker.Message) error {
	i.q.messages = append(i.q.messages, m...)
	return nil
}

type tasks struct{ q *queues }

func (i tasks) Send(_ context.Context, t ...worker.Task) error {
	i.q.tasks = append(i.q.tasks, t...)
	return nil
}

type timers struct{}

func (timers) Arm(context.Context, eventstore.Stream, int64, bool) error { return nil }

// chain runs a workflow of so many steps in a row by the real worker on the store, and returns what each message cost.
func chain(t *testing.T, steps int) *meter.Meter {
	cfg := emulator.Config(t)
	names := tables(t, cfg)
	m := &meter.Meter{}
	m.Install(&cfg)
	kinds := activity.NewRegistry()
	type order struct {
		ID     string `json:"id"`
		Amount int    `json:"amount"`
		Note   string `json:"note"`
	}
	require.NoError(t, kinds.Functions.Add(activity.Func("pass", func(_ context.Context, in order) (order, error) { return in, nil })))
	s, q := store.New(dynamodb.NewFromConfig(cfg), names, store.Options{}), &queues{}
	w := &worker.Worker{Name: "aws/" + (machine.Entropy{}).ID(), Class: worker.DefaultClass, Commits: true, Store: s, Payloads: memory.NewPayloads(0), Programs: worker.NewPrograms(s),
		Clock: machine.Clock{}, Entropy: machine.Entropy{}, Inbox: inbox{q}, Tasks: tasks{q}, Timers: timers{}, Activities: kinds, Limits: worker.DefaultLimits()}
	require.NoError(t, w.Init())
	var text strings.Builder
	text.WriteString("dsl: wovyr/v1\nname: chain\nsteps:\n")
	with := fmt.Sprintf(`{ id: o-1234567, amount: 1999, note: %s }`, strings.Repeat("n", 100))
	for i := range steps {
		fmt.Fprintf(&text, "  s%d: { function: pass, with: %s }\n", i, with)
		with = fmt.Sprintf("'${ steps.s%d.output }'", i)
	}
	def, diagnostics := dsl.Compile("chain.yaml", []byte(text.String()))
	require.NotNil(t, def, "%v", diagnostics)
	_, _, err := w.Deploy(t.Context(), "acme", def)
	require.NoError(t, err)
	m.Reset()
	ctx := func(step string) context.Context {
		return meter.With(t.Context(), meter.Label{Execution: "chain", Step: step})
	}
	started, err := w.Start(ctx("start"), worker.StartRequest{Tenant: "acme", Workflow: "chain", Input: workflow.Value(`{}`)})
	require.NoError(t, err)
	for len(q.tasks)+len(q.messages) > 0 {
		now := *q
		*q = queues{}
		for _, x := range now.tasks {
			require.True(t, w.HandleTask(ctx("chain"), worker.Delivery{Task: x, Receive: (machine.Entropy{}).ID()}).Done)
		}
		for _, x := range now.messages {
			require.True(t, w.HandleInbox(ctx("inbox"), x.Stream, []worker.Message{x})[0].Done)
		}
	}
	state, err := w.Inspect(t.Context(), eventstore.Stream{Tenant: "acme", ID: started.Execution})
	require.NoError(t, err)
	require.Equal(t, workflow.OutcomeCompleted, workflow.Outcome(worker.Outcome(state.State)))
	logSizes(t, dynamodb.NewFromConfig(cfg), names.History)
	return m
}

// logSizes shows the items that an execution left, with their sizes and those of their attributes.
func logSizes(t *testing.T, client *dynamodb.Client, table string) {
	out, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table})
	require.NoError(t, err)
	for _, i := range out.Items {
		parts := map[string]int{}
		for name, v := range i {
			parts[name] = meter.Size(map[string]types.AttributeValue{name: v})
		}
		t.Logf("item of %d bytes: %v", meter.Size(i), parts)
	}
}

// TestAChainedStepIsOneWrite holds the price of a step: at most 1.1 conditional writes of one unit, and the item within 1,024 bytes with an output
// of 150.
func TestAChainedStepIsOneWrite(t *testing.T) {
	few, many := chain(t, 10), chain(t, 30)
	a, b := few.Usage(meter.Label{Execution: "chain", Step: "chain"}), many.Usage(meter.Label{Execution: "chain", Step: "chain"})
	const more = 20
	t.Logf("start: %+v", few.Usage(meter.Label{Execution: "chain", Step: "start"}))
	t.Logf("chain of 10: %+v", a)
	t.Logf("chain of 30: %+v", b)
	writes := float64(b.Requests["DynamoDB.PutItem"]-a.Requests["DynamoDB.PutItem"]) / more
	units := (b.Units[meter.Write] - a.Units[meter.Write]) / more
	bytes := (b.ItemBytes - a.ItemBytes) / more
	dollars, err := meter.DefaultPrices().Cost(meter.Usage{Units: map[meter.Unit]float64{meter.Write: units, meter.Read: (b.Units[meter.Read] - a.Units[meter.Read]) / more}})
	require.NoError(t, err)
	t.Logf("a step more: %.2f puts, %.2f write units, %d bytes; $%.3f per million steps for the table", writes, units, bytes, dollars*1e6)
	require.LessOrEqual(t, writes, 1.1)
	require.Zero(t, b.Requests["DynamoDB.UpdateItem"]+b.Requests["DynamoDB.TransactWriteItems"])
	require.LessOrEqual(t, a.LargestItem, 1024, "each commit of the chain of 10 is one unit")
}
