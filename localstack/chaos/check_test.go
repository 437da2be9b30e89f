package chaos

import (
	"github.com/stretchr/testify/require"
	"net/url"
	"strings"

	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

// check looks at what is there when everything has ended.
func (r *run) check(poisoned int) {
	effects := r.effects.counts()
	runs := map[string]int{}
	for _, a := range r.actors {
		e, err := r.d.api.Get(r.Context(), a.id)
		require.NoError(r, err)
		r.outcome(a, e, effects)
		ids := []string{a.id}
		if a.story.name == "parent" {
			ids = append(ids, a.id+"/a/1", a.id+"/b/1")
		}
		for _, id := range ids {
			r.verify(id, runs)
		}
		if a.story.name == "once" {
			for _, step := range []string{"a", "b"} {
				require.LessOrEqual(r, runs[a.id+"/"+step], 1, "%s: %s was repeated, which it must not be", a.key, step)
			}
		}
	}
	more, keys := 0, 0
	for key, n := range effects { // order-free: each key for itself
		require.Contains(r, runs, key, "an effect of no step")
		require.LessOrEqual(r, n, runs[key], "%s took effect more often than it was run", key)
		if keys++; n > 1 {
			more++
		}
	}
	r.Logf("%d steps took effect, %d of them more than once, with the same key", keys, more)
	r.rows()
	r.letters(poisoned)
	swept := r.sweep(r.Context())
	require.Zero(r, swept.Stuck+swept.Unfinished+swept.Repaired, "the sweep finds something: %+v", swept)
}

// outcome checks how an execution ended, and that what it says that it did has taken effect.
func (r *run) outcome(a *actor, e client.Execution, effects map[string]int) {
	if e.Error != nil && e.Error.Code == "infrastructure.recoveries" {
		r.Logf("%s lost its worker too often", a.key) // verify counts
		return
	}
	if a.story.outcome == "" { // it may not have been repeated, so it may have ended in doubt
		if e.Outcome != "completed" && (e.Error == nil || e.Error.Code != "infrastructure.unknown_outcome" && !strings.HasPrefix(e.Error.Code, "http")) {
			r.Errorf("%s: %s, %v", a.key, e.Outcome, e.Error)
			r.tell(a.id)
		}
		return
	}
	took := 0
	for key := range effects { // order-free: counted
		if strings.HasPrefix(key, a.id+"/") {
			took++
		}
	}
	if took != a.story.effects {
		r.Errorf("%s (%s): %d steps took effect, and not %d", a.key, a.id, took, a.story.effects)
		r.tell(a.id)
	}
	if e.Outcome != a.story.outcome || a.story.output != "" && compact(e.Output) != a.story.output {
		r.Errorf("%s (%s): %s with %s, %v; wanted %s with %s", a.key, a.id, e.Outcome, e.Output, e.Error, a.story.outcome, a.story.output)
		r.tell(a.id)
	}
}

// verify checks a history: its chain of hashes, its numbers, and that no step was completed twice. It counts how often each step was run, by idempotency
// key.
func (r *run) verify(id string, runs map[string]int) {
	_, err := r.d.api.Verify(r.Context(), id)
	require.NoError(r, err, "%s", id)
	completed := map[string]bool{}
	for i, e := range r.history(id) {
		require.EqualValues(r, i+1, e.Version, "%s", id)
		key := id + "/" + e.Step
		switch e.Type {
		case "ActivityStarted":
			runs[key]++
		case "ActivityCompleted":
			if completed[e.Step] {
				r.Errorf("%s: %s was completed twice", id, e.Step)
				r.tell(id)
			}
			completed[e.Step] = true
		}
	}
}

// rows checks that lists say of each execution what its history says.
func (r *run) rows() {
	for _, s := range stories {
		want := map[string]string{}
		for _, a := range r.actors {
			if a.story.name == s.name {
				e, err := r.d.api.Get(r.Context(), a.id)
				require.NoError(r, err)
				want[a.id] = e.Status
			}
		}
		require.Eventually(r, func() bool {
			got := map[string]string{}
			page, err := r.d.api.List(r.Context(), url.Values{"workflow": {workflowName(r.name, s.name)}, "limit": {"1000"}})
			if err != nil {
				return false
			}
			for _, e := range page.Items {
				if want[e.ID] != "" {
					got[e.ID] = e.Status
				}
			}
			return len(got) == len(want) && same(got, want)
		}, *patience, look, "the list of %s does not say what histories say", s.name)
	}
}

func same(a, b map[string]string) bool {
	for k, v := range a { // order-free: all of them
		if b[k] != v {
			return false
		}
	}
	return true
}

// eachLetter hands out the dead letters of the store.
func (r *run) eachLetter(do func(client.DeadLetter)) {
	for after := ""; ; {
		query := url.Values{}
		if after != "" {
			query.Set("after", after)
		}
		page, err := r.d.api.DeadLetters(r.Context(), query)
		require.NoError(r, err)
		for _, l := range page.Items {
			do(l)
		}
		if after = page.Next; after == "" {
			return
		}
	}
}

// letters checks that dead letters are the poison and nothing else, in the store and in the queues.
func (r *run) letters(poisoned int) {
	found := 0
	r.eachLetter(func(l client.DeadLetter) {
		if r.older[l.ID] {
			return
		}
		if l.Code != "unreadable" || !strings.Contains(l.Cause, "is not one of ours") {
			r.Errorf("a dead letter that is no poison: %+v", l)
			return
		}
		found++
		require.NoError(r, r.d.api.DropLetter(r.Context(), l.ID, client.LetterMove{Reason: "poison", By: "chaos"}))
	})
	require.Equal(r, poisoned, found, "each poison is a dead letter")
	require.Eventually(r, func() bool { return len(r.stream.failures()) > 0 }, *patience, look, "the item that is no commit is given up")
	for _, record := range r.stream.failures() { // more than once, if its batch came again
		require.Contains(r, string(record), schema.CommitPartition+"poison", "nothing else is given up")
	}
}
