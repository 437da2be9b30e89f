//go:build unix

// Command peers takes the same figures of this engine and of others, side by side: it builds a program for each, starts the servers that they
// need on 127.0.0.1 with empty stores, lets the engines take turns, and prints a table. See README.md.
//
//	go run ./bench/peers                        all engines, five rounds
//	go run ./bench/peers -engines wovyr,dbos    some
//	go run ./bench/peers -table lines.jsonl     the table of an earlier run
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

var (
	rounds   = flag.Int("rounds", 5, "how often each engine has its turn")
	names    = flag.String("engines", "", "engines, with commas; empty: all")
	scratch  = flag.String("scratch", "", "folder for programs and stores, kept for the next run; empty: wovyr-peers in the cache folder of the user")
	lines    = flag.String("lines", "", "file for the figures, a line of JSON each; empty: lines.jsonl in -scratch")
	table    = flag.String("table", "", "file with figures of an earlier run: only print its table")
	prepare  = flag.Bool("prepare", false, "only build")
	sizes    = flag.String("sizes", "", "flags for all programs, such as '-total 200 -resume 10,1000' (harness/harness.go has them)")
	quick    = flag.Bool("quick", false, "small sizes: to see that all works")
	postgres = flag.String("postgres", "", "folder with initdb, postgres and psql; empty: where Debian and PATH have them")
)

func main() {
	flag.Parse()
	log.SetFlags(log.Ltime)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal("peers: ", err)
	}
}

func run(ctx context.Context) error {
	if *table != "" {
		results, err := read(*table)
		if err != nil {
			return err
		}
		return writeTable(os.Stdout, results)
	}
	chosen, err := choose(*names)
	if err != nil {
		return err
	}
	place, err := newPlace(*scratch, *postgres)
	if err != nil {
		return err
	}
	for _, e := range chosen {
		log.Print("building ", e.name)
		if err := e.build(ctx, place); err != nil {
			return fmt.Errorf("build %s: %w", e.name, err)
		}
	}
	if *prepare {
		return nil
	}
	results, err := takeTurns(ctx, place, chosen)
	if err != nil {
		return err
	}
	return writeTable(os.Stdout, results)
}

// takeTurns runs all rounds. Each starts with another engine, so that none always follows the same.
func takeTurns(ctx context.Context, place *place, chosen []*engine) ([]result, error) {
	file := *lines
	if file == "" {
		file = filepath.Join(place.folder, "lines.jsonl")
	}
	out, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	log.Print("figures go to ", file)
	var results []result
	for round := range *rounds {
		for i := range chosen {
			e := chosen[(round+i)%len(chosen)]
			log.Printf("round %d: %s, load %s", round+1, e.name, load())
			taken, err := e.turn(ctx, place, round+1)
			for _, r := range taken {
				if err := json.NewEncoder(out).Encode(r); err != nil {
					return results, err
				}
			}
			if err != nil {
				return results, fmt.Errorf("round %d of %s: %w", round+1, e.name, err)
			}
			results = append(results, taken...)
		}
	}
	return results, out.Close()
}

// read reads what takeTurns wrote.
func read(file string) ([]result, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var results []result
	for d := json.NewDecoder(f); ; {
		var r result
		switch err := d.Decode(&r); {
		case err == io.EOF:
			return results, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		results = append(results, r)
	}
}

// choose finds engines by their names.
func choose(names string) ([]*engine, error) {
	if names == "" {
		return engines, nil
	}
	var chosen []*engine
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(engines, func(e *engine) bool { return e.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no engine %q", name)
		}
		chosen = append(chosen, engines[i])
	}
	return chosen, nil
}

// load is the machine's load average over a minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
