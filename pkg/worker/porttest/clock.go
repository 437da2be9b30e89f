package porttest

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// RunClock tests worker.Clock.
func RunClock(t *testing.T, traits Traits, open Open) {
	run := runner(t, traits, open)
	run("clock/now", testNow)
	run("clock/every", testEvery)
	run("clock/every, one at a time", testEveryAlone)
	run("clock/every, stopped before and within", testEveryStopped)
}

// testNow: it goes on, and not back.
func testNow(d *desk) {
	last := d.Clock.Now()
	require.Positive(d.t, last)
	for range 100 {
		now := d.Clock.Now()
		require.GreaterOrEqual(d.t, now, last)
		last = now
	}
	d.Pass(d.unit())
	require.GreaterOrEqual(d.t, d.Clock.Now(), last+int64(d.unit()))
}

// testEvery: a call after each interval, the first one not at once, and none after the stop.
func testEvery(d *desk) {
	var mu sync.Mutex
	var calls []int64
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(calls)
	}
	began := d.Clock.Now()
	stop := d.Clock.Every(d.unit(), func() {
		now := d.Clock.Now()
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, now)
	})
	d.until("five calls", func() bool { return count() >= 5 })
	stop()
	stop() // harmless
	d.Pass(look)
	stopped := count()
	d.Pass(5 * d.unit())
	require.Equal(d.t, stopped, count(), "it was called after it was stopped")
	for i, at := range calls {
		require.GreaterOrEqual(d.t, at, began+int64(i+1)*int64(d.unit()), "call %d", i)
	}
}

// testEveryAlone: a call that takes longer than the interval is not overtaken by the next.
func testEveryAlone(d *desk) {
	var mu sync.Mutex
	at, most, calls := 0, 0, 0
	stop := d.Clock.Every(d.unit(), func() {
		mu.Lock()
		at++
		most = max(most, at)
		mu.Unlock()
		d.Pass(5 * d.unit() / 2)
		mu.Lock()
		at--
		calls++
		mu.Unlock()
	})
	defer stop()
	d.until("three calls", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return calls >= 3
	})
	require.Equal(d.t, 1, most)
}

// testEveryStopped: before the first call, and by the call itself.
func testEveryStopped(d *desk) {
	var mu sync.Mutex
	calls := 0
	d.Clock.Every(d.unit(), func() {
		mu.Lock()
		defer mu.Unlock()
		calls += 100
	})()
	stops := make(chan func(), 1)
	stops <- d.Clock.Every(d.unit(), func() {
		mu.Lock()
		calls++
		mu.Unlock()
		select {
		case stop := <-stops:
			stop()
		default:
		}
	})
	d.Pass(time.Duration(6) * d.unit())
	mu.Lock()
	defer mu.Unlock()
	require.Equal(d.t, 1, calls)
}
