package estimate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/aws/meter"
	"github.com/wovyr/wovyr/pkg/client"
)

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// story builds a history: each commit is its time after the start and its events, "Type step data".
type story struct{ events []client.Event }

func (s *story) commit(after time.Duration, bytes int, events ...string) {
	for i, text := range events {
		part := append(strings.SplitN(text, " ", 3), "", "")
		e := client.Event{Type: part[0], Step: part[1], Version: uint64(len(s.events) + 1), At: began.Add(after), Worker: "aws/1"}
		if part[2] != "" {
			e.Data = json.RawMessage(part[2])
		}
		if i == 0 {
			e.CommitBytes = bytes
		}
		s.events = append(s.events, e)
	}
}

// created begins a history of which the API commits what follows.
func created(events ...string) *story {
	s := &story{}
	s.commit(0, 300, append([]string{`WorkflowCreated  {"execution":"o-1","workflow":"order","tenant":"acme"}`, "WorkflowStarted"}, events...)...)
	return s
}

func (s *story) of(t *testing.T) Estimate {
	e, err := Of(s.events)
	require.NoError(t, err)
	return e
}

// claimed is the start of an attempt that came through a queue, by a worker.
func claimed(step, worker string, at time.Duration) string {
	return fmt.Sprintf(`ActivityStarted %s {"worker":%q,"started_at":%d}`, step, worker, began.Add(at).UnixNano())
}

func stamp(after time.Duration) int64 { return began.Add(after).UnixNano() }

// TestHistoryWithoutSizes: an older server is told apart from an execution that costs nothing.
func TestHistoryWithoutSizes(t *testing.T) {
	_, err := Of([]client.Event{{Type: "WorkflowCreated", Version: 1}})
	require.ErrorAs(t, err, new(*SizelessError))
	e, err := Of(nil)
	require.NoError(t, err)
	require.Empty(t, e.Parts)
	_, err = Of([]client.Event{{Type: "WorkflowCreated", Version: 1, CommitBytes: 1, Data: json.RawMessage(`[]`)}})
	require.ErrorContains(t, err, "event 1 of the history, WorkflowCreated")
}

// TestACommitPaysBySize: a KB is a unit, the item's own part included.
func TestACommitPaysBySize(t *testing.T) {
	writes := func(bytes int) float64 {
		s := created("ActivityScheduled a", "ActivityStarted a", `ActivityCompleted a`)
		s.events[0].CommitBytes = bytes
		return s.of(t).Units()[meter.Write]
	}
	small := writes(300)
	require.Equal(t, small, writes(800))
	require.Equal(t, small+1, writes(1100))
	require.Equal(t, small+47, writes(48_000))
}

// TestManyTogetherAnswerToTheInbox: of a crowd, what the history of one machine has as commits of their own is what the inbox merges on AWS.
func TestManyTogetherAnswerToTheInbox(t *testing.T) {
	const n = 20
	local, aws := created(), created()
	var scheduled, results []string
	for i := range n {
		scheduled = append(scheduled, fmt.Sprintf("ActivityScheduled each/%d/one", i))
	}
	local.commit(time.Millisecond, 5000, scheduled...)
	aws.commit(time.Millisecond, 5000, scheduled...)
	for i := range n {
		step, at := fmt.Sprintf("each/%d/one", i), time.Duration(10+i)*time.Millisecond
		local.commit(at, 200, claimed(step, "aws/1", at), "ActivityCompleted "+step)
		results = append(results, claimed(step, "aws/2", at), "ActivityCompleted "+step)
	}
	half := len(results) / 2
	aws.commit(30*time.Millisecond, 1100, results[:half]...)
	aws.commit(40*time.Millisecond, 1100, results[half:]...)
	a, b := local.of(t), aws.of(t)
	require.Equal(t, 4, a.Commits)
	require.Equal(t, b.Commits, a.Commits)
	require.InDeltaMapValues(t, b.Units(), a.Units(), 1e-6)
	require.Equal(t, n, a.Steps)
	require.Equal(t, []string{"", "each/*/one"}, []string{a.Parts[0].Step, a.Parts[1].Step})
	require.Equal(t, n, a.Parts[1].Runs)
	require.InDelta(t, n+2*2, a.Parts[1].Units[meter.Write], 1e-6, "claims, and two commits of two units")
}

// TestTimers: a delay of the queue up to a quarter of an hour, beyond it an entry, and one timer for the earliest of several deadlines.
func TestTimers(t *testing.T) {
	wait := func(deadlines ...time.Duration) units {
		s := created()
		var set []string
		for i, d := range deadlines {
			step := string(rune('a' + i))
			set = append(set, "ActivityScheduled "+step, "ActivityStarted "+step, fmt.Sprintf(`TimerSet %s {"at":%d}`, step, stamp(d)))
		}
		s.commit(time.Second, 200, set...)
		return s.of(t).Units()
	}
	none, short, long, both := wait(), wait(10*time.Minute), wait(time.Hour), wait(time.Hour, 2*time.Hour)
	require.Equal(t, 3.0, short[meter.Queue]-none[meter.Queue], "a send, a receive, a delete")
	require.Zero(t, short[meter.Schedule])
	require.Equal(t, 1.0, long[meter.Schedule])
	require.Equal(t, 6.0, long[meter.Queue]-none[meter.Queue], "the Scheduler's send, a delay, and what Lambda does with both")
	require.Equal(t, long[meter.Schedule], both[meter.Schedule])
	require.Equal(t, long[meter.Queue], both[meter.Queue])
	require.Equal(t, short[meter.FIFOQueue], long[meter.FIFOQueue])
}

// TestADecisionBeginsAtTheAPI: the request of a person, and the message that it becomes.
func TestADecisionBeginsAtTheAPI(t *testing.T) {
	s := created("ActivityScheduled ok", "ActivityStarted ok", `TaskCreated ok {"title":"?"}`, "WorkflowPaused")
	before := s.of(t)
	require.False(t, before.Ended)
	s.commit(time.Hour, 200, "WorkflowResumed", "WorkflowContinued", `TaskDecided ok {"verdict":"approve"}`, "ActivityCompleted ok", "WorkflowCompleted")
	after := s.of(t)
	require.True(t, after.Ended)
	require.Equal(t, 1.0, after.Units()[meter.HTTPRequest]-before.Units()[meter.HTTPRequest])
	require.Equal(t, 3.0, after.Units()[meter.FIFOQueue]-before.Units()[meter.FIFOQueue])
	require.Equal(t, 1.0, after.Units()[meter.Event]-before.Units()[meter.Event])
}

// TestPayloads: who brings one pays for storing it, who gets it for reading; and what looks like one in a value is none.
func TestPayloads(t *testing.T) {
	const large = `{"%s":{"json":null,"holes":[{"at":"","ref":{"hash":"abc","size":100000}}]}}`
	output, input := fmt.Sprintf(large, "output"), fmt.Sprintf(large, "input")
	s := created("ActivityScheduled a", "ActivityStarted a", "ActivityCompleted a "+output, "ActivityScheduled b "+input, "ActivityStarted b", "ActivityCompleted b", "WorkflowCompleted  "+output)
	require.Equal(t, float64(markWrites), s.of(t).Units()[meter.ObjectWrite])
	require.Equal(t, 2.0, s.of(t).Units()[meter.ObjectRead])
	s = created("ActivityScheduled a", "ActivityStarted a", `ActivityCompleted a {"output":{"json":{"holes":[{"ref":{"hash":"abc"}}]}}}`)
	require.Zero(t, s.of(t).Units()[meter.ObjectWrite])
}

// TestOwnWork is named, and not charged.
func TestOwnWork(t *testing.T) {
	run := func(d time.Duration) Estimate {
		s := created("ActivityScheduled a")
		s.commit(d, 200, claimed("a", "aws/1", 0), "ActivityCompleted a", "ActivityScheduled b", `ActivityStarted b {"worker":"aws/1","lease_until":1}`)
		s.commit(2*d, 200, "ActivityCompleted b", "WorkflowCompleted")
		return s.of(t)
	}
	short, long := run(100*time.Millisecond), run(400*time.Millisecond)
	require.Equal(t, 800*time.Millisecond, long.Work)
	require.InDelta(t, 0.8, long.GBSeconds, 1e-9)
	require.InDeltaMapValues(t, short.Units(), long.Units(), 1e-9)
}
