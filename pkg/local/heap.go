package local

import (
	"math"
	"runtime/debug"
	"sync"
)

// heapFloor is how much garbage, in bytes, there may be before Go's collector looks for it.
const heapFloor = 64 << 20

// holdFloor keeps the collector from running all the time. It runs when the heap has doubled; a platform keeps one to three megabytes
// alive, so that it would run for every four, dozens of times a second under load, and each run takes milliseconds from what goes on
// meanwhile. The memory that is allocated here counts as heap, but nobody writes to it, so it takes none. A quarter of the processor
// time of a step and two thirds of the slowest starts were the collector's.
//
// A process that was given a limit (GOMEMLIMIT) needs its memory for other things: there it is left out.
var holdFloor = sync.OnceValue(func() []byte {
	if debug.SetMemoryLimit(-1) < math.MaxInt64 {
		return nil
	}
	return make([]byte, heapFloor)
})
