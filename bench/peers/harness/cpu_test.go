package harness

import (
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	// The name of a program may hold spaces and brackets.
	p, ok := parseStat("12 (a) b (c) S 7 12 12 0 -1 4194560 1 0 0 0 3 4 50 60 20 0 1 0")
	if !ok || p.parent != 7 || p.used != 1170*time.Millisecond {
		t.Fatalf("got %+v, %v", p, ok)
	}
	if _, ok := parseStat("12 (a) S 7"); ok {
		t.Fatal("a short line was read")
	}
}

func TestDescends(t *testing.T) {
	all := map[int]process{1: {}, 10: {parent: 1}, 11: {parent: 10}, 12: {parent: 11}, 20: {parent: 1}, 30: {parent: 31}, 31: {parent: 30}}
	for pid, want := range map[int]bool{10: true, 11: true, 12: true, 20: false, 1: false, 30: false, 99: false} {
		if got := descends(all, pid, []int{10}); got != want {
			t.Errorf("process %d: %v", pid, got)
		}
	}
}

func TestProcessorCountsWhatTheServerUses(t *testing.T) {
	if Processor(nil) <= 0 {
		t.Skip("the time of this process is not known here")
	}
	if with, without := Processor([]int{1}), Processor(nil); with < without {
		t.Fatalf("%v with servers, %v without", with, without)
	}
}
