package dsl

import (
	"fmt"
	"strings"
	"testing"
)

// shapes are documents of n steps, each step with a condition and an input.
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

// shapeDocument makes a document of n steps. No expression is like one of another salt, so that none is known from before.
func shapeDocument(step func(int) (string, string), n, salt int) []byte {
	var b strings.Builder
	b.WriteString("dsl: wovyr/v1\nname: bench\n" +
		"input: { schema: { type: object, properties: { total: { type: number }, vip: { type: boolean } } } }\nsteps:\n")
	for i := range n {
		needs, reads := step(i)
		fmt.Fprintf(&b, "  s%d:\n    function: w.f\n    when: input.vip || %s > %d%04d\n", i, reads, i, salt)
		if needs != "" {
			fmt.Fprintf(&b, "    %s\n", needs)
		}
		fmt.Fprintf(&b, "    with: { n: '${ %s }' }\n", reads)
	}
	return []byte(b.String())
}

func BenchmarkCompile(b *testing.B) {
	salt := 0
	for _, shape := range shapes {
		for _, n := range []int{10, 100, 1000, 5000} {
			b.Run(fmt.Sprintf("%s/%d", shape.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for range b.N {
					b.StopTimer()
					salt++
					doc := shapeDocument(shape.step, n, salt)
					b.StartTimer()
					if def, found := Compile("bench.yaml", doc); def == nil {
						b.Fatal(found[0])
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/step")
			})
		}
	}
}
