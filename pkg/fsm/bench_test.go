package fsm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/fsm"
)

// The results of what is measured go here, so that the compiler cannot drop the work.
var (
	workflowRecord fsm.Record[fsm.WorkflowState]
	activityRecord fsm.Record[fsm.ActivityState]
)

func BenchmarkStep(b *testing.B) {
	b.Run("workflow", func(b *testing.B) {
		m, origin, facts := fsm.WorkflowV1(), origin(), facts()
		b.ReportAllocs()
		for b.Loop() {
			rec, err := m.Step(fsm.WorkflowStateScheduled(), fsm.WorkflowStarted(), &origin, &facts)
			if err != nil {
				b.Fatal(err)
			}
			workflowRecord = rec
		}
	})
	b.Run("activity", func(b *testing.B) {
		m, origin, facts := fsm.ActivityV1(), origin(), facts()
		b.ReportAllocs()
		for b.Loop() {
			rec, err := m.Step(fsm.ActivityStateRunning(), fsm.ActivityCompleted(), &origin, &facts)
			if err != nil {
				b.Fatal(err)
			}
			activityRecord = rec
		}
	})
}

func BenchmarkNext(b *testing.B) {
	m, facts := fsm.ActivityV1(), facts()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Next(fsm.ActivityStateRunning(), fsm.ActivityCompleted(), &facts); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEdge(b *testing.B) {
	m := fsm.WorkflowV1()
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := m.Edge(fsm.WorkflowStateRunning(), fsm.WorkflowPaused()); !ok {
			b.Fatal("no edge")
		}
	}
}

// BenchmarkActivityLife is the usual life of an activity, five records an iteration.
func BenchmarkActivityLife(b *testing.B) {
	m := fsm.ActivityV1()
	events := []fsm.ActivityEvent{fsm.ActivityCreated(), fsm.ActivityReady(), fsm.ActivityScheduled(), fsm.ActivityStarted(), fsm.ActivityCompleted()}
	origin, facts := origin(), facts()
	b.ReportAllocs()
	for b.Loop() {
		var s fsm.ActivityState
		for _, on := range events {
			rec, err := m.Step(s, on, &origin, &facts)
			if err != nil {
				b.Fatal(err)
			}
			s, activityRecord = rec.CurrentState, rec
		}
	}
}

func BenchmarkInstance(b *testing.B) {
	ev := fsm.TransitionEvent[fsm.WorkflowEvent]{On: fsm.WorkflowCreated(), Origin: origin(), Facts: facts()}
	ev.Facts.Expected = 0
	b.ReportAllocs()
	for b.Loop() {
		in := fsm.WorkflowV1().Instance()
		rec, err := in.Transition(ev)
		if err != nil {
			b.Fatal(err)
		}
		workflowRecord = rec
	}
}

func BenchmarkRefusal(b *testing.B) {
	m, facts := fsm.WorkflowV1(), facts()
	facts.Expected = 1
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Next(fsm.WorkflowStateScheduled(), fsm.WorkflowStarted(), &facts); err == nil {
			b.Fatal("accepted")
		}
	}
}

// An accepted transition allocates nothing, not even when origin and facts are made for it alone.
func TestTransitionAllocatesNothing(t *testing.T) {
	workflows, activities := fsm.WorkflowV1(), fsm.ActivityV1()
	for row := range workflows.Transitions() {
		require.Zero(t, testing.AllocsPerRun(100, func() {
			origin, facts := origin(), facts()
			rec, err := workflows.Step(row.From, row.On, &origin, &facts)
			if err != nil {
				panic(err)
			}
			workflowRecord = rec
		}), "%s on %s", row.From, row.On)
	}
	for row := range activities.Transitions() {
		require.Zero(t, testing.AllocsPerRun(100, func() {
			origin, facts := origin(), facts()
			rec, err := activities.Step(row.From, row.On, &origin, &facts)
			if err != nil {
				panic(err)
			}
			activityRecord = rec
		}), "%s on %s", row.From, row.On)
	}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		in := workflows.Instance()
		ev := fsm.TransitionEvent[fsm.WorkflowEvent]{On: fsm.WorkflowCreated(), Origin: origin(), Facts: facts()}
		ev.Facts.Expected = 0
		rec, err := in.Transition(ev)
		if err != nil {
			panic(err)
		}
		workflowRecord = rec
	}))
}
