//go:build unix

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// turns are the figures of engines in three rounds.
func turns(figure string, of map[string][][]float64) (out []result) {
	for _, e := range engines {
		for round, values := range of[e.name] {
			out = append(out, result{Engine: e.name, Round: round + 1, Load: "0.5", Figure: figure, Unit: "ms", Values: values, Processor: values[0] / 10})
		}
	}
	return out
}

func TestRows(t *testing.T) {
	for name, c := range map[string]struct {
		row  row
		of   map[string][][]float64
		want string
	}{
		"medians of medians, against the best": {
			row:  row{text: "x", figure: "start"},
			of:   map[string][][]float64{"wovyr": {{1, 2, 9}, {4}, {3}}, "dbos": {{8}, {9}, {9}}, "restate": {{5}, {6}, {70}}},
			want: "| x | 3.00 (2.00 to 4.00) | 9.00 (8.00 to 9.00) | 6.00 (5.00 to 70.0) | 2.0 times |",
		},
		"more is better": {
			row:  row{text: "x", figure: "start", more: true},
			of:   map[string][][]float64{"wovyr": {{1000}}, "dbos": {{10}}, "restate": {{400}}},
			want: "| x | 1000 | 10.0 | 400 | 2.5 times |",
		},
		"worse": {
			row:  row{text: "x", figure: "start"},
			of:   map[string][][]float64{"wovyr": {{4}}, "dbos": {{2}}, "restate": {{3}}},
			want: "| x | 4.00 | 2.00 | 3.00 | 0.5 times |",
		},
		"what was not taken is no zero": {
			row:  row{text: "x", figure: "start"},
			of:   map[string][][]float64{"wovyr": {{4}}, "dbos": {{8}}, "restate": nil},
			want: "| x | 4.00 | 8.00 | not taken | 2.0 times |",
		},
		"nobody to compare with": {
			row:  row{text: "x", figure: "start"},
			of:   map[string][][]float64{"wovyr": {{4}}},
			want: "| x | 4.00 | not taken | not taken | |",
		},
		"processor time": {
			row:  row{text: "x", figure: "start", of: processor},
			of:   map[string][][]float64{"wovyr": {{0.5}}, "dbos": {{3}}, "restate": {{4}}},
			want: "| x | 0.050 | 0.300 | 0.400 | 6.0 times |",
		},
		"quantiles are of all rounds together": {
			row: row{text: "x", figure: "start", of: func(r result) float64 { return quantile(r.Values, 0.75) }, pooled: true},
			// One round has the high values; the middle of the rounds' quantiles would be 1.
			of:   map[string][][]float64{"wovyr": {{1, 1}, {1, 1}, {7, 7, 7, 7}}, "dbos": {{7}}, "restate": {{70}}},
			want: "| x | 7.00 (1.00 to 7.00) | 7.00 | 70.0 | 1.0 times |",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			writeRow(&b, c.row, turns("start", c.of), []string{"wovyr", "dbos", "restate"})
			require.Equal(t, c.want+"\n", b.String())
		})
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	require.Error(t, writeTable(&b, nil))
	require.NoError(t, writeTable(&b, turns("chain", map[string][][]float64{"dbos": {{2}, {2}}, "wovyr": {{1}, {1}}})))
	text := b.String()
	require.Contains(t, text, "| | wovyr | dbos | wovyr is better than the best other |\n|---|---|---|---|\n")
	require.Contains(t, text, "load 0.5, 0.5\n")
	require.Contains(t, text, "| a step in a chain of 100, ms | 1.00 (1.00 to 1.00) | 2.00 (2.00 to 2.00) | 2.0 times |\n")
	require.Contains(t, text, "| start to the first step, ms | not taken | not taken | |\n")
}

func TestVersions(t *testing.T) {
	require.Positive(t, compareVersions([]int{1, 10}, []int{1, 9}))
	require.Positive(t, compareVersions([]int{1, 9, 1}, []int{1, 9}))
	require.Negative(t, compareVersions([]int{0, 99}, []int{1}))
}

func TestChoose(t *testing.T) {
	all, err := choose("")
	require.NoError(t, err)
	require.Equal(t, "wovyr", all[0].name, "the table compares the first with the others")
	some, err := choose("temporal,dbos")
	require.NoError(t, err)
	require.Equal(t, "temporal", some[0].name)
	_, err = choose("nobody")
	require.ErrorContains(t, err, "nobody")
}
