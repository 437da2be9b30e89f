package worker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// versions deploys so many versions of a workflow.
func (r *rig) versions(n int) string {
	for i := range n {
		r.define(fmt.Sprintf("name: many\nsteps:\n  a: { value: { v: %d } }", i+1))
	}
	return "many"
}

func (r *rig) alias(name string, targets ...eventstore.Target) {
	r.Helper()
	revision := uint64(1)
	if a, err := r.store.Alias(r.Context(), tenant, "many", name); err == nil {
		revision = a.Revision + 1
	}
	require.NoError(r, r.store.PutAlias(r.Context(), eventstore.Alias{Tenant: tenant, Workflow: "many", Name: name, Revision: revision, Targets: targets}))
}

// TestWhichVersionStarts: a number is that version, an alias its target, nothing the alias `live` and, without one, the newest.
func TestWhichVersionStarts(t *testing.T) {
	r := newRig(t)
	name := r.versions(3)
	resolved := func(version string) uint64 {
		d, err := r.Programs.Resolve(t.Context(), tenant, name, version, "key")
		require.NoError(t, err)
		return d.Version
	}
	require.Equal(t, uint64(3), resolved(""))
	require.Equal(t, uint64(1), resolved("1"))
	r.alias("canary", eventstore.Target{Version: 2, Weight: 1})
	require.Equal(t, uint64(2), resolved("canary"))
	require.Equal(t, uint64(3), resolved(""))
	r.alias("live", eventstore.Target{Version: 1, Weight: 5})
	require.Equal(t, uint64(1), resolved(""))
	r.alias("live") // switched off
	_, err := r.Programs.Resolve(t.Context(), tenant, name, "", "key")
	require.ErrorAs(t, err, new(*UnknownWorkflowError))
}

// TestSharesOfAnAlias: each key goes to one target for ever, and keys spread over the targets by their weights.
func TestSharesOfAnAlias(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		name := r.versions(4)
		weights := rapid.SliceOfN(rapid.Uint32Range(0, 100), 1, 4).Draw(rt, "weights")
		var targets []eventstore.Target
		total := uint32(0)
		for i, w := range weights {
			targets = append(targets, eventstore.Target{Version: uint64(i + 1), Weight: w})
			total += w
		}
		r.alias("split", targets...)
		const keys = 4000
		got := map[uint64]int{}
		prefix := rapid.StringMatching(`[a-z]{0,8}`).Draw(rt, "prefix")
		for i := range keys {
			key := fmt.Sprintf("%s%d", prefix, i)
			d, err := r.Programs.Resolve(t.Context(), tenant, name, "split", key)
			if total == 0 {
				require.ErrorAs(rt, err, new(*UnknownWorkflowError))
				return
			}
			require.NoError(rt, err)
			got[d.Version]++
			if i%100 == 0 {
				again, err := NewPrograms(r.store).Resolve(t.Context(), tenant, name, "split", key)
				require.NoError(rt, err)
				require.Equal(rt, d.Version, again.Version)
			}
		}
		for _, target := range targets {
			want := float64(target.Weight) / float64(total) * keys
			require.InDelta(rt, want, float64(got[target.Version]), 250, "weights %v: %v", weights, got) // four standard deviations and more
		}
	})
}

// TestSharesOfExecutionIDs: the keys in use are IDs of executions, derived from idempotency keys or drawn.
func TestSharesOfExecutionIDs(t *testing.T) {
	r := newRig(t)
	name := r.versions(2)
	r.alias("live", eventstore.Target{Version: 1, Weight: 90}, eventstore.Target{Version: 2, Weight: 10})
	var canaries int
	for i := range 2000 {
		request := StartRequest{Tenant: tenant, Workflow: name, Key: fmt.Sprintf("order-%d", i)}
		s, err := r.Start(t.Context(), request)
		require.NoError(t, err)
		if s.Definition == "2" {
			canaries++
		}
		if i%200 == 0 { // a repeat finds its version, whatever the alias says now
			r.alias("live", eventstore.Target{Version: 3 - 1, Weight: 1})
			again, err := r.Start(t.Context(), request)
			require.NoError(t, err)
			require.Equal(t, s.Definition, again.Definition)
			r.alias("live", eventstore.Target{Version: 1, Weight: 90}, eventstore.Target{Version: 2, Weight: 10})
		}
	}
	require.InDelta(t, 200, canaries, 60)
}

// TestOpenExecutionsKeepTheirVersion: a deploy changes what is started next, and nothing that is open (WF-002 §21).
func TestOpenExecutionsKeepTheirVersion(t *testing.T) {
	r := newRig(t)
	text := `
name: kept
steps:
  w: { event: { type: Go } }
  a: { needs: [ w ], function: std.echo, with: { v: VERSION } }`
	name := r.define(strings.Replace(text, "VERSION", "1", 1))
	old := r.begin(name, `{}`)
	r.define(strings.Replace(text, "VERSION", "2", 1))
	d, isNew, err := r.Deploy(t.Context(), tenant, r.definition(name, 2))
	require.NoError(t, err)
	require.False(t, isNew, "the same content is the same version")
	require.Equal(t, uint64(2), d.Version)
	fresh := r.begin(name, `{}`)
	// Another process knows nothing but what is stored.
	r.Worker = r.another("w2")
	for _, s := range []eventstore.Stream{old, fresh} {
		require.True(t, r.tell(s, workflow.ExternalEvent{EarlyEvent: workflow.EarlyEvent{ID: "go-" + s.ID, Kind: "Go"}}).Done)
	}
	r.settle()
	require.Equal(t, `{"a":{"v":1}}`, r.ended(old, "completed").Output.JSON.String())
	require.Equal(t, `{"a":{"v":2}}`, r.ended(fresh, "completed").Output.JSON.String())
	require.Equal(t, uint64(1), r.row(old).Definition)
	require.Equal(t, uint64(2), r.row(fresh).Definition)
}

// definition is a deployed one.
func (r *rig) definition(name string, version uint64) *workflow.Definition {
	r.Helper()
	program, err := r.Programs.Load(r.Context(), tenant, name, version)
	require.NoError(r, err)
	return program.Definition()
}
