package local_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/std"
	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/local"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

const tenant = "local"

// platform is one that runs until the test ends, and reports ends of executions.
type platform struct {
	*local.Platform
	ends chan string
	stop func()
}

func start(t testing.TB, data string) *platform {
	kinds := activity.NewRegistry()
	require.NoError(t, kinds.Functions.Add(std.Functions()...))
	p := &platform{ends: make(chan string, 10_000)}
	var err error
	p.Platform, err = local.Open(data, local.Options{Activities: kinds, Committed: func(s eventstore.Stream, _ []workflow.Recorded, state *workflow.State) {
		if state.Status.Terminal() {
			p.ends <- s.ID
		}
	}})
	require.NoError(t, err)
	p.begin(t)
	return p
}

// run runs an open platform until the test ends.
func run(t testing.TB, open *local.Platform) *platform {
	p := &platform{Platform: open}
	p.begin(t)
	return p
}

func (p *platform) begin(t testing.TB) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx, time.Minute) }()
	stopped := false
	p.stop = func() {
		if !stopped {
			stopped = true
			cancel()
			require.NoError(t, <-done)
		}
	}
	t.Cleanup(p.stop)
}

func (p *platform) deploy(t testing.TB, text string) string {
	def, diagnostics := dsl.Compile("test.yaml", []byte("dsl: wovyr/v1\n"+text))
	require.NotNil(t, def, "%v", diagnostics)
	_, _, err := p.Worker.Deploy(context.Background(), tenant, def)
	require.NoError(t, err)
	return def.Name
}

func (p *platform) run(t testing.TB, name, input string) string {
	s, err := p.Worker.Start(context.Background(), worker.StartRequest{Tenant: tenant, Workflow: name, Input: workflow.Value(input)})
	require.NoError(t, err)
	return s.Execution
}

func (p *platform) state(t testing.TB, id string) *worker.Snapshot {
	s, err := p.Worker.Inspect(context.Background(), eventstore.Stream{Tenant: tenant, ID: id})
	require.NoError(t, err)
	return s
}

func TestChainCompletes(t *testing.T) {
	p := start(t, t.TempDir())
	name := p.deploy(t, `
name: chain
steps:
  a: { function: std.echo, with: { n: '${ input.n }' } }
  b: { function: std.fail, with: { times: 2, of: '${ steps.a.output.n }' }, retry: { attempts: 3, strategy: fixed, delay: 1ms } }
  c: { function: std.echo, with: { n: '${ steps.b.output.attempts + 1 }' } }`)
	id := p.run(t, name, `{"n":1}`)
	require.Equal(t, id, <-p.ends)
	s := p.state(t, id)
	require.Equal(t, "Failed", s.Status.String(), "std.fail has no field `of`, and says so")
	require.Equal(t, activity.CodeInput, s.Error.Code)
}

// TestTakesUpWhatWasOpen stops a platform in the middle and goes on with another on the same folder.
func TestTakesUpWhatWasOpen(t *testing.T) {
	data := t.TempDir()
	p := start(t, data)
	name := p.deploy(t, `
name: waits
steps:
  a: { function: std.echo, with: { n: 1 } }
  t: { needs: [a], timer: { for: 50ms } }
  e: { needs: [t], event: { type: Go } }
  b: { needs: [e], function: std.echo, with: { n: 2 } }`)
	ids := map[string]bool{}
	for range 20 {
		ids[p.run(t, name, `{}`)] = true
	}
	p.stop()

	p = start(t, data)
	for id := range ids {
		require.NoError(t, p.Ask(t.Context(), eventstore.Stream{Tenant: tenant, ID: id},
			workflow.ExternalEvent{EarlyEvent: workflow.EarlyEvent{ID: "go-" + id, Kind: "Go"}}))
	}
	for range 20 {
		delete(ids, <-p.ends)
	}
	require.Empty(t, ids)
}

func BenchmarkChain(b *testing.B) {
	p := start(b, b.TempDir())
	text := "name: chain\nsteps:\n  s0: { function: std.echo, with: { n: 0 } }\n"
	for i := 1; i < 100; i++ {
		text += fmt.Sprintf("  s%d: { needs: [s%d], function: std.echo, with: { n: %d } }\n", i, i-1, i)
	}
	name := p.deploy(b, text)
	for b.Loop() {
		p.run(b, name, `{}`)
		<-p.ends
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100/1000, "µs/step")
}

func BenchmarkConcurrentChains(b *testing.B) {
	p := start(b, b.TempDir())
	text := "name: ten\nsteps:\n  s0: { function: std.echo, with: { n: 0 } }\n"
	for i := 1; i < 10; i++ {
		text += fmt.Sprintf("  s%d: { needs: [s%d], function: std.echo, with: { n: %d } }\n", i, i-1, i)
	}
	name := p.deploy(b, text)
	for b.Loop() {
		slots := make(chan struct{}, 50)
		go func() {
			for range 500 {
				slots <- struct{}{}
				p.run(b, name, `{}`)
			}
		}()
		for range 500 {
			<-p.ends
			<-slots
		}
	}
	b.ReportMetric(float64(b.N)*5000/b.Elapsed().Seconds(), "steps/s")
}
