package harness

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the unit of times in /proc/PID/stat.
const tick = 10 * time.Millisecond

// Processor is the processor time that a benchmark has cost so far: of this process, exactly, and of servers and all their
// descendants (PostgreSQL has one for each connection), to 10 ms each.
func Processor(servers []int) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	total := time.Duration(r.Utime.Nano() + r.Stime.Nano())
	if len(servers) == 0 {
		return total
	}
	all := processes()
	for pid := range all { // order-free: a sum
		if descends(all, pid, servers) {
			total += all[pid].used
		}
	}
	return total
}

// process is one line of the table of processes. used counts its children that have ended.
type process struct {
	parent int
	used   time.Duration
}

func processes() map[int]process {
	all := map[int]process{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is sound
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if p, ok := parseStat(string(text)); ok {
			all[pid] = p
		}
	}
	return all
}

// parseStat reads the parent (field 4) and the times of a process and of its ended children (fields 14 to 17), proc(5).
func parseStat(text string) (process, bool) {
	_, rest, ok := cutLast(text, ")") // the name before may hold anything
	fields := strings.Fields(rest)
	if !ok || len(fields) < 15 {
		return process{}, false
	}
	var p process
	p.parent, _ = strconv.Atoi(fields[1])
	for _, f := range fields[11:15] {
		n, _ := strconv.ParseInt(f, 10, 64)
		p.used += time.Duration(n) * tick
	}
	return p, true
}

func cutLast(text, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[:i], text[i+len(sep):], true
	}
	return text, "", false
}

// descends reports whether a process is one of roots or below one.
func descends(all map[int]process, pid int, roots []int) bool {
	for range all { // a chain of parents is no longer than that
		for _, root := range roots {
			if pid == root {
				return true
			}
		}
		p, ok := all[pid]
		if !ok {
			return false
		}
		pid = p.parent
	}
	return false
}
