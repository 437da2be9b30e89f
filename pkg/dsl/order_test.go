package dsl

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTranspose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var square [64]uint64
		for i := range square {
			square[i] = rapid.Uint64().Draw(t, "row")
		}
		turned := square
		transpose(&turned)
		for i := range 64 {
			for j := range 64 {
				require.Equal(t, square[i]>>j&1, turned[j]>>i&1)
			}
		}
	})
}

// Guards are walked in steps that grow; by their outer links alone the answer must be the same.
func TestGuards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		deciders := []*unit{{}, {}, {}}
		guards := []*guard{nil}
		for range rapid.IntRange(1, 60).Draw(t, "guards") {
			outer := rapid.SampledFrom(guards).Draw(t, "outer")
			guards = append(guards, push(outer, rapid.SampledFrom(deciders).Draw(t, "by"), rapid.IntRange(0, 2).Draw(t, "way")))
		}
		g, h := rapid.SampledFrom(guards).Draw(t, "one"), rapid.SampledFrom(guards).Draw(t, "other")
		x, y := g, h
		for x.level() > y.level() {
			x = x.outer
		}
		for y.level() > x.level() {
			y = y.outer
		}
		for x != y && x.outer != y.outer {
			x, y = x.outer, y.outer
		}
		want := x != y && x.by == y.by && x.ways[0] != y.ways[0]
		require.Equal(t, want, exclusive(g, h))
		require.Equal(t, want, exclusive(h, g))
	})
}
