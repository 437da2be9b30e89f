package dsl

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRetriesAreRetry: who writes the word of other languages, at a step or in its block, is told the whole mapping and its place.
func TestRetriesAreRetry(t *testing.T) {
	for step, says := range map[string]string{
		"{ function: std.echo, retries: 3 }":                 "write `retry: { attempts: … }`",
		"{ http: { url: 'https://x.example', retries: 3 } }": "write `retry: { attempts: … }` at the step, beside its kind",
	} {
		_, found := Compile("a.yaml", []byte("dsl: wovyr/v1\nname: x\nsteps:\n  a: "+step+"\n"))
		require.Len(t, found, 1)
		require.Equal(t, says, found[0].Suggestion, step)
	}
}
