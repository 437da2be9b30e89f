package e2e

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/e2e"
	"github.com/wovyr/wovyr/pkg/aws/connect"
	"github.com/wovyr/wovyr/pkg/client"
)

var (
	name     = flag.String("stack", "", "name of the deployed stack; empty: nothing is tested")
	emulator = flag.String("emulator", "ministack", "what answers: ministack, localstack or aws")
)

// leftOut is what this suite cannot show on an emulator although AWS has it, with the reason.
var leftOut = map[string]map[string]string{
	"ministack": {
		clientContext:                      "ministack hands no client context on to a function",
		"an entry of the scheduler fires":  "the nearest is 15 minutes away; that a wait of a week ends is tested in virtual time",
		"a call without a right is denied": "nothing is denied; what functions call is held against their roles at the end of this run",
		"the service throttles":            "it never does; make aws-chaos throttles in its stead",
	},
	"localstack": {
		"the stack of a customer":           "its function in Python needs Docker: examples/aws-inventory is not deployed",
		"an HTTP API":                       "the community edition has none: the stack is deployed with a REST API",
		"a dashboard":                       "the community edition has none: the stack is deployed without",
		"fair queues between tenants":       "LocalStack 4.4.0 is older than they are",
		"an entry of the scheduler fires":   "entries are stored and never fire",
		"a call without a right is denied":  "nothing is denied",
		"functions are held to their roles": "they run in containers, which do not reach the proxy that writes down their calls",
	},
	"aws": {},
}

// TestLeftOut lists it, so that nothing is left out in silence.
func TestLeftOut(t *testing.T) {
	require.Contains(t, leftOut, *emulator, "-emulator takes ministack, localstack or aws")
	if *name == "" {
		return
	}
	for what, why := range leftOut[*emulator] { // order-free: a list for people
		t.Run(what, func(t *testing.T) { t.Skip(why) })
	}
}

// deployed is the stack under test.
type deployed struct {
	cfg     aws.Config
	outputs map[string]string
	client  *client.Client
}

func open(t *testing.T) *deployed {
	if *name == "" {
		t.Skip("no stack: deploy one and name it, as make aws-local-test does: go test ./localstack/e2e -args -stack wovyr")
	}
	return openStack(t, *name)
}

// openStack finds a stack by its name.
func openStack(t *testing.T, name string) *deployed {
	cfg, err := connect.Load(t.Context())
	require.NoError(t, err)
	s, err := connect.Find(t.Context(), cfg, name)
	require.NoError(t, err)
	c, err := s.Client(os.Getenv("WOVYR_TOKEN"))
	require.NoError(t, err)
	return &deployed{cfg: cfg, outputs: s.Outputs, client: c}
}

func TestEndToEnd(t *testing.T) {
	d := open(t)
	d.secret(t)
	e2e.Run(t, e2e.Target{Client: d.client, Patience: 3 * time.Minute, Look: 500 * time.Millisecond, Short: testing.Short()})
}

// deploy deploys a document.
func (d *deployed) deploy(t *testing.T, document string) {
	t.Helper()
	_, err := d.client.Deploy(t.Context(), "e2e.yaml", []byte(document))
	require.NoError(t, err)
}

// TestFarTimer finds the entry of a timer of more than 15 minutes.
func TestFarTimer(t *testing.T) {
	d := open(t)
	w := fmt.Sprintf("far-%d", time.Now().UnixNano())
	_, err := d.client.Deploy(t.Context(), "far.yaml", []byte("dsl: wovyr/v1\nname: "+w+"\nsteps: { nap: { timer: { for: 7d } } }\n"))
	require.NoError(t, err)
	entries := func() int {
		n := 0
		pages := scheduler.NewListSchedulesPaginator(scheduler.NewFromConfig(d.cfg), &scheduler.ListSchedulesInput{GroupName: aws.String(*name + "-wovyr")})
		for pages.HasMorePages() {
			page, err := pages.NextPage(t.Context())
			require.NoError(t, err)
			n += len(page.Schedules)
		}
		return n
	}
	before := entries()
	_, err = d.client.Start(t.Context(), client.StartRequest{Workflow: w})
	require.NoError(t, err)
	eventually(t, "the scheduler has an entry", func() (int, bool) { n := entries(); return n, n == before+1 })
}

// eventually looks again and again.
func eventually[T any](t *testing.T, what string, look func() (T, bool)) T {
	t.Helper()
	over := time.NewTimer(3 * time.Minute)
	defer over.Stop()
	again := time.NewTicker(500 * time.Millisecond)
	defer again.Stop()
	for {
		if v, ok := look(); ok {
			return v
		}
		select {
		case <-over.C:
			require.Fail(t, "it did not happen: "+what)
		case <-again.C:
		}
	}
}
