package sim_test

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/sim"
)

var (
	seeds = flag.Int("seeds", 200, "how many seeds to run")
	first = flag.Uint64("seed", 1, "the first seed")
	only  = flag.String("scenarios", "", "names of scenarios, with commas; all if empty")
	trace = flag.Bool("trace", false, "print what happens")
)

func config(t testing.TB, seed uint64) sim.Config {
	var names []string
	if *only != "" {
		names = strings.Split(*only, ",")
	}
	c := sim.Config{Seed: seed, Processes: 3, Rates: sim.HeavyRates(), Faults: 8 * time.Minute, Patience: 24 * time.Hour,
		Scenarios: scenarios(t, names...), Executions: 4}
	if *trace {
		c.Trace = os.Stdout
	}
	return c
}

// TestSeeds runs seed after seed under heavy faults and looks for violations.
func TestSeeds(t *testing.T) {
	c := config(t, 0)
	var sum sim.Report
	for i := range *seeds {
		c.Seed = *first + uint64(i)
		r, err := sim.Run(c)
		require.NoError(t, err)
		require.Empty(t, r.Violations, "seed %d: go test ./pkg/sim -run TestSeeds -args -seed %d -seeds 1 -trace", c.Seed, c.Seed)
		sum.Effects, sum.Faults, sum.Commits, sum.Activities = sum.Effects+r.Effects, sum.Faults+r.Faults, sum.Commits+r.Commits, sum.Activities+r.Activities
	}
	t.Logf("%d seeds: %d effects, %d crashes, %d commits, %d runs of activities", *seeds, sum.Effects, sum.Faults, sum.Commits, sum.Activities)
	require.Positive(t, sum.Faults)
}

// TestSeedDecides: the same seed gives the same run.
func TestSeedDecides(t *testing.T) {
	for seed := range uint64(5) {
		var texts [2]strings.Builder
		for i := range texts {
			c := config(t, seed)
			c.Trace = &texts[i]
			_, err := sim.Run(c)
			require.NoError(t, err)
		}
		require.True(t, texts[0].String() == texts[1].String(), "seed %d: two runs differ", seed)
	}
}
