package dsl

import (
	"fmt"
	"strings"
	"testing"
)

// shapes are documents of n steps, each step with a condition, an input of two expressions and a compensation.
var shapes = []struct {
	name string
	step func(i int) (needs, reads string)
}{
	{"wide", func(int) (string, string) { return "", "input.total" }},
	{"chain", func(i int) (string, string) {
		if i == 0 {
			return "", "input.total"
		}
		return "", fmt.Sprintf("steps.s%d.output.n", i-1)
	}},
	{"dense", func(i int) (string, string) {
		var needs []string
		for j := max(0, i-20); j < i; j++ {
			needs = append(needs, fmt.Sprintf("s%d", j))
		}
		if i == 0 {
			return "", "input.total"
		}
		return "needs: [ " + strings.Join(needs, ", ") + " ]", fmt.Sprintf("steps.s%d.output.n + steps.s%d.output.m", i-1, i/2)
	}},
}

func shapeDocument(step func(int) (string, string), n int) []byte {
	var b strings.Builder
	b.WriteString("dsl: wovyr/v1\nname: bench\non_failure: compensate\nvars: { best: 0 }\n" +
		"input: { schema: { type: object, properties: { total: { type: number }, vip: { type: boolean } } } }\nsteps:\n")
	for i := range n {
		needs, reads := step(i)
		fmt.Fprintf(&b, "  s%d:\n    function: work.%d\n    when: input.vip || %s > %d\n", i, i, reads, i)
		if needs != "" {
			fmt.Fprintf(&b, "    %s\n", needs)
		}
		fmt.Fprintf(&b, "    with: { n: '${ %s }', text: 'no. ${ input.total + %d } of %d' }\n", reads, i, n)
		fmt.Fprintf(&b, "    compensate: { function: undo, with: { id: '${ output.id }' } }\n")
	}
	return []byte(b.String())
}

func BenchmarkCompile(b *testing.B) {
	for _, shape := range shapes {
		for _, n := range []int{10, 100, 1000, 5000} {
			b.Run(fmt.Sprintf("%s/%d", shape.name, n), func(b *testing.B) {
				doc := shapeDocument(shape.step, n)
				b.ReportAllocs()
				for b.Loop() {
					def, found := Compile("bench.yaml", doc)
					if def == nil {
						b.Fatal(found[0])
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/step")
			})
		}
	}
}
