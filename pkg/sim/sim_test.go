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
	seeds   = flag.Int("seeds", usualSeeds, "how many seeds to run")
	first   = flag.Uint64("seed", 1, "the first seed")
	only    = flag.String("scenarios", "", "names of scenarios, with commas; all if empty")
	profile = flag.String("profile", "", "heavy, unswept or calm; the seed decides if empty")
	trace   = flag.Bool("trace", false, "print what happens")
)

// config is the simulation of a seed: two of four are heavy, one runs without a sweep, one is calm.
func config(t testing.TB, seed uint64, names ...string) sim.Config {
	if *only != "" {
		names = strings.Split(*only, ",")
	}
	c := sim.Config{Seed: seed, Processes: [...]int{3, 1, 1}, Rates: sim.HeavyRates(), Faults: 8 * time.Minute, Patience: 24 * time.Hour,
		Scenarios: scenarios(t, names...), Executions: 4}
	switch p := *profile; {
	case p == "unswept" || p == "" && seed%4 == 2:
		c.Rates, c.Unswept = sim.UnsweptRates(), true
	case p == "calm" || p == "" && seed%4 == 3:
		c.Rates = sim.CalmRates()
	}
	c.Gone = c.Rates.Crash > 0 && seed%8 == 4
	c.Many = seed%3 == 1
	c.Derived = c.Many && seed%5 < 3
	if *trace {
		c.Trace = os.Stdout
	}
	return c
}

// TestSeeds runs seed after seed under faults and looks for violations.
func TestSeeds(t *testing.T) {
	all := scenarios(t, strings.FieldsFunc(*only, func(r rune) bool { return r == ',' })...)
	sum := sim.Report{Outcomes: map[string]int{}}
	unguarded := 0
	began := time.Now()
	for i := range *seeds {
		c := config(t, *first+uint64(i), "chain")
		c.Scenarios = all
		r, err := sim.Run(c)
		require.NoError(t, err)
		if len(r.Violations) > 0 {
			t.Errorf("seed %d: %s\n\tgo test ./pkg/sim -run TestSeeds -args -seed %d -seeds 1 -trace", c.Seed, strings.Join(r.Violations, "\n\t"), c.Seed)
		}
		sum.Effects, sum.Crashes, sum.Commits, sum.Activities = sum.Effects+r.Effects, sum.Crashes+r.Crashes, sum.Commits+r.Commits, sum.Activities+r.Activities
		if c.Unswept && r.Unguarded > 0 {
			unguarded++
		}
		sum.Payloads += r.Payloads
		sum.Receives = max(sum.Receives, r.Receives)
		for outcome, n := range r.Outcomes { // order-free: a sum
			sum.Outcomes[outcome] += n
		}
	}
	t.Logf("%d seeds, %.0f a minute: %d effects, %d crashes, %d commits, %d runs of activities, %d payloads read, at most %d receives of a task, outcomes %v",
		*seeds, float64(*seeds)/time.Since(began).Minutes(), sum.Effects, sum.Crashes, sum.Commits, sum.Activities, sum.Payloads, sum.Receives, sum.Outcomes)
	require.Positive(t, sum.Commits)
	require.Less(t, 10*unguarded, *seeds, "most runs without a sweep must say something")
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
