package sqlite_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/sqlite"
)

// chain is one execution as the engine writes it: commits of about 700 bytes with four events each, a row with each commit.
type chain struct {
	stream eventstore.Stream
	head   uint64
	row    eventstore.Row
	nonce  uint64
	data   []byte
}

func newChain(worker, n int) *chain {
	s := eventstore.Stream{Tenant: "default", ID: fmt.Sprintf("order-%d-%d", worker, n)}
	return &chain{stream: s, data: make([]byte, 700), row: eventstore.Row{
		Stream: s, Workflow: "order", Definition: 1, Started: time.Now().UnixNano(), Status: "running", Open: true,
		Labels: []eventstore.Label{{Key: "team", Value: "commerce"}},
	}}
}

// next returns the next commit; the last of so many closes the execution.
func (c *chain) next(last bool) (eventstore.Commit, *eventstore.Row) {
	commit := eventstore.Commit{First: c.head + 1, Last: c.head + 4, Data: c.data}
	c.nonce++
	binary.BigEndian.PutUint64(commit.Nonce[:], c.nonce)
	c.head += 4
	c.row.Version, c.row.Updated = c.head, time.Now().UnixNano()
	c.row.Due = c.row.Updated + int64(time.Minute)
	if last {
		c.row.Status, c.row.Open, c.row.Due, c.row.Purge = "completed", false, 0, c.row.Updated+int64(time.Hour)
	}
	return commit, &c.row
}

// BenchmarkAppend: executions of 12 commits, so many at a time, each commit durable before the next.
func BenchmarkAppend(b *testing.B) {
	for _, writers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s, err := sqlite.Open(b.TempDir(), sqlite.Options{})
			require.NoError(b, err)
			defer s.Close()
			took := make([][]time.Duration, writers)
			var group sync.WaitGroup
			cpu := processCPU()
			b.ResetTimer()
			for w := range writers {
				group.Go(func() {
					const commits = 12
					var c *chain
					for i := range (b.N + writers - 1) / writers {
						if i%commits == 0 {
							c = newChain(w, i)
						}
						commit, row := c.next(i%commits == commits-1)
						start := time.Now()
						if err := s.Append(context.Background(), c.stream, commit, row); err != nil {
							b.Error(err)
							return
						}
						took[w] = append(took[w], time.Since(start))
					}
				})
			}
			group.Wait()
			b.StopTimer()
			all := slices.Concat(took...)
			slices.Sort(all)
			b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "appends/s")
			b.ReportMetric(float64(all[len(all)/2].Nanoseconds())/1e3, "p50-µs")
			b.ReportMetric(float64(all[len(all)*99/100].Nanoseconds())/1e3, "p99-µs")
			b.ReportMetric(float64(all[len(all)*999/1000].Nanoseconds())/1e3, "p999-µs")
			b.ReportMetric(float64((processCPU()-cpu).Nanoseconds())/1e3/float64(len(all)), "cpu-µs/op")
			b.ReportMetric(float64(s.Stats().Writes)/float64(s.Stats().Transactions), "appends/tx")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func processCPU() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
