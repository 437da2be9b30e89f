//go:build unix

package aws_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestProcessorTime measures what the model takes for the functions' own processor time: that of this process, with the deployment's own part in it, so it is
// an upper bound.
func TestProcessorTime(t *testing.T) {
	onSite(t, 1, func(s *site) {
		s.deploy(chain("chain10", 10, 0))
		s.run("chain10")()
		s.Settle()
		s.Usage()
		before := processorTime(t)
		for range *runs {
			s.run("chain10")()
		}
		s.Settle()
		took := processorTime(t) - before
		calls := 0
		for _, u := range s.Usage() { // order-free: a sum
			for _, n := range u.Requests { // order-free: a sum
				calls += n
			}
		}
		require.Positive(t, calls)
		t.Logf("%d executions, %d calls: %s of processor time, %s a call", *runs, calls, took, took/time.Duration(calls))
	})
}

func processorTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
