// Command local measures the engine on one machine, with its store on a disk and every commit synced: what docs/benchmarks.md compares
// with other engines. Each figure is a line of JSON on standard output.
//
//	go run ./bench/local                 all figures, once
//	go run ./bench/local -reps 5 -only chain,throughput
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"
)

var (
	reps = flag.Int("reps", 1, "how often each figure is taken")
	only = flag.String("only", "", "names of figures, with commas; empty: all")
	data = flag.String("data", "", "folder of the store; empty: a new one, removed at the end")
	prof = flag.String("cpuprofile", "", "file for a profile of the processor time, as `go tool pprof` reads it")
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	folder := *data
	if folder == "" {
		var err error
		if folder, err = os.MkdirTemp("", "wovyr-bench-*"); err != nil {
			return err
		}
		defer os.RemoveAll(folder)
	}
	if *prof != "" {
		stop, err := profile(*prof)
		if err != nil {
			return err
		}
		defer stop()
	}
	b := &bench{folder: folder}
	if err := b.open(); err != nil {
		return err
	}
	for rep := range *reps {
		for _, m := range measurements {
			if *only != "" && !slices.Contains(strings.Split(*only, ","), m.name) {
				continue
			}
			for _, f := range m.take(b) {
				report(f, rep+1)
			}
		}
	}
	return b.close()
}

// profile writes down where processor time goes until stop is called.
func profile(file string) (stop func(), err error) {
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		if err := f.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
	}, nil
}

// report writes one figure.
func report(f figure, rep int) {
	slices.Sort(f.values)
	at := func(p float64) float64 { return f.values[int(p*float64(len(f.values)-1)+0.5)] }
	line, err := json.Marshal(struct {
		Name  string             `json:"name"`
		Unit  string             `json:"unit"`
		Rep   int                `json:"rep"`
		N     int                `json:"n"`
		Min   float64            `json:"min"`
		P50   float64            `json:"p50"`
		P99   float64            `json:"p99"`
		Max   float64            `json:"max"`
		Load  string             `json:"load"`
		Extra map[string]float64 `json:"extra,omitempty"`
	}{f.name, f.unit, rep, len(f.values), at(0), at(0.5), at(0.99), at(1), load(), f.extra})
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}

// load is the machine's load average, without which no time means much.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// cpu is the processor time of this process.
func cpu() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
