//go:build unix

package sqlite_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
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

// fill writes so many executions of one commit each, many at a time.
func fill(b *testing.B, s *sqlite.Store, executions int) []*chain {
	all := make([]*chain, executions)
	var group sync.WaitGroup
	for hand := range 256 {
		group.Go(func() {
			for i := hand; i < executions; i += 256 {
				all[i] = newChain(0, i)
				commit, row := all[i].next(false)
				if err := s.Append(context.Background(), all[i].stream, commit, row); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	return all
}

// BenchmarkAppendAmong100000: 64 at a time, each commit to another of 100,000 open executions.
func BenchmarkAppendAmong100000(b *testing.B) {
	s, err := sqlite.Open(b.TempDir(), sqlite.Options{})
	require.NoError(b, err)
	defer s.Close()
	all := fill(b, s, 100_000)
	const writers = 64
	cpu := processCPU()
	b.ResetTimer()
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := w; i < b.N; i += writers {
				c := all[(i/writers*7919*writers+w)%len(all)/writers*writers+w]
				commit, row := c.next(false)
				if err := s.Append(context.Background(), c.stream, commit, row); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
	b.ReportMetric(float64((processCPU()-cpu).Nanoseconds())/1e3/float64(b.N), "cpu-µs/op")
}

// BenchmarkTail: the load of an execution whose last checkpoint is 20 commits of 700 bytes back, after histories of different lengths.
func BenchmarkTail(b *testing.B) {
	for _, commits := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprintf("commits=%d", commits), func(b *testing.B) {
			s, err := sqlite.Open(b.TempDir(), sqlite.Options{})
			require.NoError(b, err)
			defer s.Close()
			c := newChain(0, 0)
			var checkpoint uint64
			for i := range commits {
				commit, row := c.next(false)
				if i%20 == commits%20 {
					checkpoint = commit.First
				}
				commit.Checkpoint = checkpoint
				require.NoError(b, s.Append(context.Background(), c.stream, commit, row))
			}
			b.ResetTimer()
			for b.Loop() {
				tail, err := s.Tail(context.Background(), c.stream)
				require.NoError(b, err)
				require.Len(b, tail, 20)
			}
		})
	}
}

// BenchmarkClaim: claims by so many at a time.
func BenchmarkClaim(b *testing.B) {
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s, err := sqlite.Open(b.TempDir(), sqlite.Options{})
			require.NoError(b, err)
			defer s.Close()
			b.ResetTimer()
			var group sync.WaitGroup
			for w := range writers {
				stream := eventstore.Stream{Tenant: "default", ID: fmt.Sprint("order-", w)}
				group.Go(func() {
					for i := w; i < b.N; i += writers {
						k := eventstore.ClaimKey{Stream: stream, Attempt: fmt.Sprint("step/", i), Fence: 1}
						if _, err := s.Claim(context.Background(), k, eventstore.Claim{Owner: "receive", Until: 1}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			group.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "claims/s")
		})
	}
}

// BenchmarkRestart: to open a store of 100,000 open executions and read their rows, as a restart does.
func BenchmarkRestart(b *testing.B) {
	folder := b.TempDir()
	s, err := sqlite.Open(folder, sqlite.Options{})
	require.NoError(b, err)
	const executions = 100_000
	fill(b, s, executions)
	require.NoError(b, s.Close())
	for b.Loop() {
		s, err := sqlite.Open(folder, sqlite.Options{})
		require.NoError(b, err)
		n := 0
		for shard := range eventstore.Shards {
			for cursor := ""; ; {
				rows, next, err := s.Overdue(context.Background(), shard, eventstore.MaxTime, eventstore.Page{Cursor: cursor, Limit: eventstore.MaxPage})
				require.NoError(b, err)
				n += len(rows)
				if cursor = next; next == "" {
					break
				}
			}
		}
		require.Equal(b, executions, n)
		require.NoError(b, s.Close())
	}
}

// BenchmarkDisk is the floor: 12 KB written to where a file has room, and synced, as the smallest transaction does.
func BenchmarkDisk(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "file"))
	require.NoError(b, err)
	defer f.Close()
	const room, page = 4 << 20, 12 << 10
	_, err = f.Write(make([]byte, room))
	require.NoError(b, err)
	require.NoError(b, f.Sync())
	block := make([]byte, page)
	for i := 0; b.Loop(); i++ {
		if _, err := f.WriteAt(block, int64(i*page%(room-page))); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}
