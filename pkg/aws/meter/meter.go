package meter

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
)

// Meter counts. The zero value is ready; one of them may be installed in many clients.
type Meter struct {
	mu    sync.Mutex
	usage map[Label]*Usage
}

// Label says for whom something was used.
type Label struct {
	Execution string
	Step      string // empty: for the execution as a whole
}

type labelKey struct{}

// With returns a context whose calls are counted for a label.
func With(ctx context.Context, l Label) context.Context { return context.WithValue(ctx, labelKey{}, l) }

// Install makes the clients of a configuration count.
func (m *Meter) Install(c *aws.Config) {
	c.APIOptions = append(slices.Clone(c.APIOptions), func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("WovyrMeter", m.measure), middleware.After)
	})
}

// measure counts one call.
func (m *Meter) measure(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	service, operation := awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx)
	if service == "DynamoDB" {
		in.Parameters = asking(in.Parameters)
	}
	out, metadata, err := next.HandleInitialize(ctx, in)
	used := Usage{Requests: map[string]int{service + "." + operation: 1}}
	switch service {
	case "DynamoDB":
		used.add(ofTables(in.Parameters, out.Result, err))
	case "S3":
		used.add(ofObjects(operation, err))
	case "Secrets Manager":
		used.add(unit(SecretRequest, 1))
	default:
		if err == nil {
			used.add(ofMessages(in.Parameters, out.Result))
		}
	}
	m.add(ctx, used)
	return out, metadata, err
}

// Count counts a call that AWS makes for us, and that passes no client of this process: in and out are those of the SDK, out nil where it does
// not matter. It knows SQS, EventBridge, Scheduler and Lambda.
func (m *Meter) Count(ctx context.Context, in, out any) { m.add(ctx, ofMessages(in, out)) }

// Add counts what no call of this process shows.
func (m *Meter) Add(ctx context.Context, of Unit, n float64) { m.add(ctx, unit(of, n)) }

func (m *Meter) add(ctx context.Context, used Usage) {
	l, _ := ctx.Value(labelKey{}).(Label)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.usage == nil {
		m.usage = map[Label]*Usage{}
	}
	if m.usage[l] == nil {
		m.usage[l] = &Usage{}
	}
	m.usage[l].add(used)
}

// Labels returns the labels that something was counted for, by execution and step.
func (m *Meter) Labels() []Label {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Label
	for l := range m.usage {
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b Label) int {
		return cmp.Or(strings.Compare(a.Execution, b.Execution), strings.Compare(a.Step, b.Step))
	})
	return out
}

// Usage returns what was counted for a label.
func (m *Meter) Usage(l Label) Usage {
	return m.sum(func(x Label) bool { return x == l })
}

// Total returns what was counted for all.
func (m *Meter) Total() Usage {
	return m.sum(func(Label) bool { return true })
}

func (m *Meter) sum(of func(Label) bool) Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out Usage
	out.add(Usage{})
	for l, u := range m.usage {
		if of(l) {
			out.add(*u)
		}
	}
	return out
}

// Reset forgets all that was counted.
func (m *Meter) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage = nil
}
