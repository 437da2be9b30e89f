package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/client"
)

// Target is a deployment under test. Its workers know the secret SecretName.
type Target struct {
	Client *client.Client
	// Patience is how long a scenario waits for what must come.
	Patience time.Duration
	// Look is the pause between two looks.
	Look time.Duration
	// Short runs the scenarios marked so only.
	Short bool
}

// scenario is one story.
type scenario struct {
	name string
	// short scenarios are run where time is short.
	short bool
	run   func(s *story)
}

// Run runs the scenarios.
func Run(t *testing.T, target Target) {
	for _, sc := range slices.Concat(scenarios, triggers) {
		if target.Short && !sc.short {
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			sc.run(&story{T: t, Target: target, ctx: t.Context()})
		})
	}
}

// story is a scenario under way.
type story struct {
	*testing.T
	Target
	ctx context.Context
}

// deploy deploys documents.
func (s *story) deploy(documents ...string) {
	s.Helper()
	for _, d := range documents {
		_, err := s.Client.Deploy(s.ctx, "e2e.yaml", []byte(d))
		require.NoError(s, err)
	}
}

// start starts an execution with an input of JSON.
func (s *story) start(workflow, input string) string {
	s.Helper()
	e, err := s.Client.Start(s.ctx, client.StartRequest{Workflow: workflow, Input: json.RawMessage(input)})
	require.NoError(s, err)
	return e.ID
}

// until looks at an execution until it is as wanted, and returns it.
func (s *story) until(id, what string, wanted func(e client.Execution) bool) client.Execution {
	s.Helper()
	var last client.Execution
	s.wait(func() bool {
		e, err := s.Client.Get(s.ctx, id)
		if err == nil {
			last = e
		}
		return err == nil && wanted(e)
	}, func() string {
		return fmt.Sprintf("it did not happen: %s: execution %s is %s, %s", what, id, last.Status, strings.Join(last.Waiting, ", "))
	})
	return last
}

// eventually looks until something has happened.
func (s *story) eventually(what string, happened func() bool) {
	s.Helper()
	s.wait(happened, func() string { return "it did not happen: " + what })
}

func (s *story) wait(happened func() bool, otherwise func() string) {
	s.Helper()
	over := time.NewTimer(s.Patience)
	defer over.Stop()
	look := time.NewTicker(s.Look)
	defer look.Stop()
	for !happened() {
		select {
		case <-over.C:
			require.Fail(s, otherwise())
		case <-look.C:
		}
	}
}

// ended waits for the end of an execution and checks how it ended.
func (s *story) ended(id, outcome string) client.Execution {
	s.Helper()
	e := s.until(id, "the execution ends", func(e client.Execution) bool { return !e.EndedAt.IsZero() })
	require.Equal(s, outcome, e.Outcome, "%s: %v", id, e.Error)
	return e
}

// output checks the output of an execution.
func (s *story) output(e client.Execution, want string) {
	s.Helper()
	require.JSONEq(s, want, string(e.Output))
}

// history returns the events of an execution.
func (s *story) history(id string) []client.Event {
	s.Helper()
	var out []client.Event
	for after := ""; ; {
		page, err := s.Client.History(s.ctx, id, after)
		require.NoError(s, err)
		out = append(out, page.Items...)
		if after = page.Next; after == "" {
			return out
		}
	}
}

// verified checks that a history is whole: no number missing, no event twice, its chain of hashes unbroken, and no attempt completed twice.
func (s *story) verified(id string) {
	s.Helper()
	_, err := s.Client.Verify(s.ctx, id)
	require.NoError(s, err)
	completed := map[string]bool{}
	for i, e := range s.history(id) {
		require.EqualValues(s, i+1, e.Version)
		if e.Type == "ActivityCompleted" {
			require.False(s, completed[e.Step], "%s completed twice", e.Step)
			completed[e.Step] = true
		}
	}
}

// named makes a name of this run's own, so that suites may share a deployment.
func (s *story) named(name string) string {
	return fmt.Sprintf("%s-%d", name, time.Now().UnixNano())
}
