package estimate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/wovyr/wovyr/pkg/client"
)

// commit is one commit of a history.
type commit struct {
	at     time.Time
	bytes  int
	events []event
}

// event is one event, with what of its data matters here. Times are in nanoseconds since 1970; 0: none.
type event struct {
	client.Event
	said fields
}

type fields struct {
	Started    int64   `json:"started_at"` // of an attempt that was claimed: it came through a queue
	Lease      int64   `json:"lease_until"`
	By         string  `json:"worker"`
	Walked     bool    `json:"walked"`
	At         int64   `json:"at"`
	WaitBy     int64   `json:"wait_by"`
	TimeoutAt  int64   `json:"timeout_at"`
	ScheduleBy int64   `json:"schedule_by"`
	Remind     []int64 `json:"remind"`
	Escalate   []int64 `json:"escalate"`
	Workflow   string  `json:"workflow"`
	Execution  string  `json:"execution"`
	Tenant     string  `json:"tenant"`
	Origin     struct {
		Parent *struct{} `json:"parent"`
	} `json:"origin"`
	// Outside is the event that came from there; numbered: it was published, and not sent to the execution.
	Outside struct {
		Number uint64 `json:"number"`
	} `json:"event"`
}

// SizelessError is a history that does not say how large its commits are.
type SizelessError struct{}

// Error says what to do.
func (*SizelessError) Error() string {
	return "the server does not say how large commits are: it is older than this program, deploy or start it anew"
}

// commits reads a history, from its first event on.
func commits(events []client.Event) ([]commit, error) {
	var out []commit
	for _, e := range events {
		x := event{Event: e}
		if len(e.Data) > 0 {
			if err := json.Unmarshal(e.Data, &x.said); err != nil {
				return nil, fmt.Errorf("estimate: event %d of the history, %s: %w", e.Version, e.Type, err)
			}
		}
		switch {
		case e.CommitBytes > 0:
			out = append(out, commit{at: e.At, bytes: e.CommitBytes})
		case len(out) == 0:
			return nil, &SizelessError{}
		}
		c := &out[len(out)-1]
		c.events = append(c.events, x)
	}
	return out, nil
}

// references is how many payloads the data of an event names. What stands in values themselves is not looked at.
func (e *event) references() int {
	if !bytes.Contains(e.Data, []byte(`"holes"`)) {
		return 0
	}
	var tree any
	if json.Unmarshal(e.Data, &tree) != nil { // it was read before
		return 0
	}
	return holes(tree)
}

func holes(v any) int {
	n := 0
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			n += holes(x)
		}
	case map[string]any:
		if ref, ok := v["ref"].(map[string]any); ok && ref["hash"] != nil {
			n++
		}
		for name, x := range v { // order-free: a count
			if name != "json" {
				n += holes(x)
			}
		}
	}
	return n
}

// each calls what for the events of a type.
func (c *commit) each(kind string, what func(e *event)) {
	for i := range c.events {
		if c.events[i].Type == kind {
			what(&c.events[i])
		}
	}
}

// has reports whether it holds an event of one of these types.
func (c *commit) has(kinds ...string) bool { return c.count(kinds...) > 0 }

func (c *commit) count(kinds ...string) int {
	n := 0
	for i := range c.events {
		if slices.Contains(kinds, c.events[i].Type) {
			n++
		}
	}
	return n
}

// queued are the steps whose attempts it sends to a queue: scheduled, and not begun in the same commit.
func (c *commit) queued() []string {
	begun := map[string]bool{}
	c.each("ActivityStarted", func(e *event) { begun[e.Step] = true })
	var out []string
	c.each("ActivityScheduled", func(e *event) {
		if !e.said.Walked && !begun[e.Step] {
			out = append(out, e.Step)
		}
	})
	return out
}

// direct reports whether whoever ran the claimed attempt wrote its result, too.
func (e *event) direct() bool { return e.said.By == e.Worker }

// merged is a history with the results of crowds merged as the inbox merges them on AWS: on one machine each is a commit of its own.
func merged(in []commit, crowded map[string]bool) []commit {
	var out []commit
	open := 0 // results in the last commit, if it takes more
	for _, c := range in {
		results, alone := 0, true
		c.each("ActivityStarted", func(e *event) {
			if e.said.Started > 0 {
				results++
				alone = alone && e.direct() && crowded[e.Step]
			}
		})
		alone = alone && results > 0
		if last := len(out) - 1; alone && open > 0 && open+results <= sendBatch && c.at.Sub(out[last].at) <= together {
			out[last].at = c.at
			out[last].bytes += max(0, c.bytes-headBytes)
			out[last].events = append(out[last].events, c.events...)
			open += results
			continue
		}
		c.events = slices.Clone(c.events)
		out = append(out, c)
		if open = 0; alone {
			open = results
		}
	}
	return out
}

// crowds are the steps of a history whose tasks were sent beside many.
func crowds(in []commit) map[string]bool {
	out := map[string]bool{}
	for i := range in {
		if q := in[i].queued(); len(q) >= crowd {
			for _, step := range q {
				out[step] = true
			}
		}
	}
	return out
}
