package aws_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/deployment"
	"github.com/wovyr/wovyr/pkg/aws/meter"
)

// bill is what executions of one kind used, on average.
type bill struct {
	steps, runs int
	// of says what each function used, with what AWS did around it.
	of map[string]meter.Usage
}

// measure runs an execution of a kind several times, one after the other, and returns what one of them used. The first runs are to warm up.
func (s *site) measure(steps int, run func()) bill {
	const warm = 2
	for range warm {
		run()
		s.Settle()
	}
	s.Usage()
	b := bill{steps: steps, runs: *runs, of: map[string]meter.Usage{}}
	for range *runs {
		run()
		s.Settle()
	}
	for name, u := range s.Usage() { // order-free: a map again
		b.of[name] = scaled(u, 1/float64(*runs))
	}
	return b
}

func scaled(u meter.Usage, by float64) meter.Usage {
	out := meter.Usage{Requests: u.Requests, Units: map[meter.Unit]float64{}, Items: u.Items, ItemBytes: u.ItemBytes, LargestItem: u.LargestItem}
	for unit, n := range u.Units { // order-free: a map again
		out.Units[unit] = n * by
	}
	return out
}

// units are all units of a bill.
func (b bill) units() map[meter.Unit]float64 {
	out := map[meter.Unit]float64{}
	for _, u := range b.of { // order-free: sums
		for unit, n := range u.Units { // order-free: sums
			out[unit] += n
		}
	}
	return out
}

// million is what a million of them cost, in dollars.
func (b bill) million(t testing.TB) float64 { return dollars(t, b.units()) }

// step is what a million steps cost, all in.
func (b bill) step(t testing.TB) float64 { return b.million(t) / float64(b.steps) }

func dollars(t testing.TB, units map[meter.Unit]float64) float64 {
	d, err := meter.DefaultPrices().Cost(meter.Usage{Units: units})
	require.NoError(t, err)
	return d * 1e6
}

// table writes a bill: units in rows, functions in columns.
func (b bill) table(t testing.TB) string {
	var out strings.Builder
	fmt.Fprintf(&out, "| unit | %s | all | $ per million executions |\n|---|%s---|---|\n", strings.Join(deployment.Functions, " | "), strings.Repeat("---|", len(deployment.Functions)))
	all := b.units()
	order := slices.SortedFunc(maps.Keys(all), func(x, y meter.Unit) int {
		return cmp.Or(cmp.Compare(dollars(t, map[meter.Unit]float64{y: all[y]}), dollars(t, map[meter.Unit]float64{x: all[x]})), cmp.Compare(x, y))
	})
	for _, unit := range order {
		fmt.Fprintf(&out, "| %s |", unit)
		for _, f := range deployment.Functions {
			fmt.Fprintf(&out, " %s |", count(b.of[f].Units[unit]))
		}
		fmt.Fprintf(&out, " %s | %.3f |\n", count(all[unit]), dollars(t, map[meter.Unit]float64{unit: all[unit]}))
	}
	fmt.Fprintf(&out, "| $ per million |")
	for _, f := range deployment.Functions {
		fmt.Fprintf(&out, " %.3f |", dollars(t, b.of[f].Units))
	}
	fmt.Fprintf(&out, " | **%.2f** |\n", b.million(t))
	return out.String()
}

func count(n float64) string {
	if n == 0 {
		return ""
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.4f", n), "0"), ".")
}
