//go:build mutants

package sim_test

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/sim"
	"github.com/wovyr/wovyr/pkg/worker"
)

// within is how many seeds the simulator has to find a bug.
var within = flag.Int("within", 400, "how many seeds each mutant may survive")

// hunt is where a bug shows soonest.
type hunt struct {
	profile   string
	scenarios []string
}

var mutants = map[worker.Mutant]hunt{
	worker.AcknowledgeGuard:  {"unswept", []string{"chain", "diamond"}},
	worker.NotRevoked:        {"heavy", []string{"late", "any", "diamond"}},
	worker.ExpireAtOnce:      {"heavy", []string{"only", "classes"}},
	worker.DecideAnew:        {"calm", []string{"chain", "once"}},
	worker.CancelNobody:      {"heavy", []string{"parent", "graceful"}},
	worker.CarryEvent:        {"heavy", []string{"events"}},
	worker.DispatchFirst:     {"unswept", []string{"chain", "classes", "diamond"}},
	worker.AnyFence:          {"heavy", []string{"classes", "chain"}},
	worker.DropEarly:         {"unswept", []string{"wait", "loop"}},
	worker.PutBackAtOnce:     {"heavy", []string{"chain", "classes"}},
	worker.NoResend:          {"unswept", []string{"chain", "classes"}},
	worker.TrustStale:        {"unswept", []string{"diamond", "foreach", "slots"}},
	worker.BeatForever:       {"calm", []string{"hangs"}},
	worker.ReadThenSubscribe: {"unswept", []string{"rush"}},
	worker.ForgetNotice:      {"heavy", []string{"parent", "family"}},
	worker.ForgetContinue:    {"unswept", []string{"bulky"}},
	worker.SkipBefore:        {"heavy", []string{"burst"}},
	worker.StartAnew:         {"heavy", []string{"triggers"}},
	worker.StaleRow:          {"heavy", []string{"chain", "wait", "timers"}},
	worker.ForgetHold:        {"heavy", []string{"parcels", "volumes"}},
}

var bugs = map[sim.Bug]hunt{
	sim.AcknowledgeFirst: {"unswept", []string{"chain"}},
	sim.EntryMoved:       {"unswept", []string{"timers"}},
	sim.NoSweep:          {"heavy", []string{"chain"}},
	sim.KeyByLast:        {"heavy", []string{"diamond", "foreach"}},
	sim.StableID:         {"unswept", []string{"wait", "loop"}},
}

// TestMutants breaks each rule of the protocol in turn: the simulator must notice.
func TestMutants(t *testing.T) {
	for _, m := range worker.Mutants {
		t.Run(string(m), func(t *testing.T) {
			h, ok := mutants[m]
			require.True(t, ok, "say where to look for it")
			worker.Broken = m
			defer func() { worker.Broken = "" }()
			h.find(t, func(c *sim.Config) {})
		})
	}
	for _, b := range sim.Bugs {
		t.Run(string(b), func(t *testing.T) {
			h, ok := bugs[b]
			require.True(t, ok, "say where to look for it")
			h.find(t, func(c *sim.Config) { c.Bug = b })
		})
	}
}

func (h hunt) find(t *testing.T, change func(*sim.Config)) {
	*profile = h.profile
	defer func() { *profile = "" }()
	base := config(t, 0, h.scenarios...)
	for seed := range *within {
		c := base
		c.Seed = uint64(seed)
		c.Many = seed%3 == 1
		change(&c)
		r, err := sim.Run(c)
		require.NoError(t, err)
		if len(r.Violations) > 0 {
			t.Logf("seed %d: %s", seed, r.Violations[0])
			return
		}
	}
	t.Errorf("%d seeds, and nobody noticed", *within)
}

// TestRulesHold: where the mutants are found, nothing is found without them.
func TestRulesHold(t *testing.T) {
	seen := map[string]bool{}
	for _, h := range mutants { // order-free: each is run for itself
		key := h.profile
		for _, s := range h.scenarios {
			key += " " + s
		}
		if seen[key] {
			continue
		}
		seen[key] = true
		*profile = h.profile
		c := config(t, 0, h.scenarios...)
		for seed := range 40 {
			c.Seed = uint64(seed)
			c.Many = seed%3 == 1
			r, err := sim.Run(c)
			require.NoError(t, err)
			require.Empty(t, r.Violations, "%s, seed %d", key, seed)
		}
	}
	*profile = ""
}
