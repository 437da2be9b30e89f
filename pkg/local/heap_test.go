package local

import (
	"runtime"
	"runtime/metrics"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCollectorRests(t *testing.T) {
	p, err := Open(t.TempDir(), Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Store.Close()) }()
	runtime.GC()
	goal := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
	metrics.Read(goal)
	require.Greater(t, goal[0].Value.Uint64(), uint64(2*heapFloor), "the collector waits until the heap has doubled")
}
