//go:build unix

package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
)

// row is one line of the table: a figure of all engines.
type row struct {
	text, figure string
	// of turns the values of one turn into one number; nil: their median.
	of func(r result) float64
	// pooled takes the values of all rounds together: for quantiles that one round has too few values for.
	pooled bool
	more   bool // more is better
}

var rows = []row{
	{text: "start to the first step, ms", figure: "start"},
	{text: "the same, 99th percentile", figure: "start", of: func(r result) float64 { return quantile(r.Values, 0.99) }, pooled: true},
	{text: "a step in a chain of 100, ms", figure: "chain"},
	{text: "processor time a step in that, ms", figure: "chain", of: processor},
	{text: "100 steps at once and their merge, ms", figure: "fan"},
	{text: "many workflows of 10 steps, 50 at a time, steps/s", figure: "throughput", more: true},
	{text: "processor time a step in that, ms", figure: "throughput", of: processor},
	{text: "signal to next step, restarted before, 10 steps done, ms", figure: "resume-10"},
	{text: "the same, 1,000 steps done", figure: "resume-1000"},
	{text: "the same, 10,000 steps done", figure: "resume-10000"},
	{text: "restart to next step, 10 steps done, ms", figure: "restart-10"},
	{text: "the same, 1,000 steps done", figure: "restart-1000"},
	{text: "the same, 10,000 steps done", figure: "restart-10000"},
}

func processor(r result) float64 { return r.Processor }

// cell is a figure of an engine: the middle, least and greatest of its rounds.
type cell struct {
	middle, least, most float64
	rounds              int
}

// cells finds a row's figure of an engine. There are no rounds if it was not taken.
func (w row) cell(results []result, engine string) cell {
	of := w.of
	if of == nil {
		of = func(r result) float64 { return quantile(r.Values, 0.5) }
	}
	var values []float64
	var all result
	for _, r := range results {
		if r.Engine == engine && r.Figure == w.figure {
			values = append(values, of(r))
			all.Values = append(all.Values, r.Values...)
		}
	}
	if len(values) == 0 {
		return cell{}
	}
	c := cell{middle: quantile(values, 0.5), least: slices.Min(values), most: slices.Max(values), rounds: len(values)}
	if w.pooled {
		c.middle = of(all)
	}
	return c
}

// quantile is the value below which a share of values lie, to the nearest of them.
func quantile(values []float64, share float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(share*float64(len(sorted)-1)+0.5)]
}

// writeTable writes what was taken as Markdown: each figure of each engine, and how many times the first is better than the best of the others.
func writeTable(w io.Writer, results []result) error {
	if len(results) == 0 {
		return fmt.Errorf("there are no figures")
	}
	var names []string
	about := map[string]result{}
	for _, r := range results {
		if _, ok := about[r.Engine]; !ok {
			about[r.Engine] = r
		}
	}
	for _, e := range engines {
		if _, ok := about[e.name]; ok {
			names = append(names, e.name)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d processors (%s). Medians of the rounds, least and greatest in brackets.\n\n", runtime.GOOS, runtime.NumCPU(), processorName())
	for _, name := range names {
		r := about[name]
		fmt.Fprintf(&b, "- %s: %s; %s; %s; %s\n", name, r.Version, r.Durability, r.Place, loads(results, name))
	}
	b.WriteString("\n| |")
	for _, name := range names {
		fmt.Fprintf(&b, " %s |", name)
	}
	fmt.Fprintf(&b, " %s is better than the best other |\n|---|%s---|\n", names[0], strings.Repeat("---|", len(names)))
	for _, line := range rows {
		writeRow(&b, line, results, names)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeRow(b *strings.Builder, line row, results []result, names []string) {
	cells := make([]cell, len(names))
	best := math.NaN()
	for i, name := range names {
		cells[i] = line.cell(results, name)
		if i > 0 && cells[i].rounds > 0 && (math.IsNaN(best) || line.more == (cells[i].middle > best)) {
			best = cells[i].middle
		}
	}
	fmt.Fprintf(b, "| %s |", line.text)
	for _, c := range cells {
		fmt.Fprintf(b, " %s |", c)
	}
	ratio := best / cells[0].middle
	if line.more {
		ratio = 1 / ratio
	}
	if math.IsNaN(ratio) || math.IsInf(ratio, 0) {
		b.WriteString(" |\n")
		return
	}
	fmt.Fprintf(b, " %.1f times |\n", ratio)
}

// String shows the middle, and in brackets the others if there were several rounds.
func (c cell) String() string {
	switch c.rounds {
	case 0:
		return "not taken"
	case 1:
		return short(c.middle)
	}
	return fmt.Sprintf("%s (%s to %s)", short(c.middle), short(c.least), short(c.most))
}

// short shows three digits.
func short(v float64) string {
	digits := 0
	for limit := 100.0; v < limit && digits < 3; limit /= 10 {
		digits++
	}
	return fmt.Sprintf("%.*f", digits, v)
}

// loads names the load averages at the beginning of an engine's turns.
func loads(results []result, engine string) string {
	var out []string
	round := 0
	for _, r := range results {
		if r.Engine == engine && r.Round != round {
			out, round = append(out, r.Load), r.Round
		}
	}
	return "load " + strings.Join(out, ", ")
}

// processorName is how Linux calls the processor.
func processorName() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
