package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// TestTimeLimitsThatAreAccepted: where the language says nothing against a time limit, the engine keeps it; where it warns that the limit
// has no effect, it has none.
func TestTimeLimitsThatAreAccepted(t *testing.T) {
	const wait = "steps: { w: { event: { type: A } } }"
	for kind, step := range map[string]string{
		"timer": "timer: { for: 2d }", "human": "human: { title: x }", "event": "event: { type: A }", "child": "workflow: { name: w }",
		"group": "group: { " + wait + " }", "loop": "loop: { max: 2, on_max: stop, " + wait + " }", "race": "race: { r: { " + wait + " }, q: { " + wait + " } }",
		"foreach": "foreach: { items: [ 1 ], " + wait + " }", "function": "function: f", "callback": "function: f, callback: true",
		"value": "value: 1", "set": "set: { n: 1 }", "emit": "emit: { type: A }", "switch": "switch: [ { else: z } ]", "fail": "fail: { code: c }",
	} {
		for _, word := range []string{"timeout", "wait_timeout"} {
			document := "vars: { n: 0 }\nlimits: { timeout: 30d }\nsteps: { s: { " + step + ", " + word + ": 1h }, z: { needs: [ { s: ended } ], function: z } }"
			_, found := dsl.Compile("test.yaml", []byte("dsl: wovyr/v1\nname: test\n"+document))
			warned := false
			for _, d := range found {
				warned = warned || d.Code == "dsl/policy-ignored" && strings.Contains(d.Message, "`"+word+"`")
			}
			require.Equal(t, !warned, strikes(t, document), "%s of %s", word, kind)
		}
	}
}

// strikes reports whether step s of a document ends by a timeout within two hours, or its worker is told to end it.
func strikes(t *testing.T, document string) bool {
	t.Helper()
	r := begin(t, document, "")
	if c, ok := scheduled(r); ok {
		if !strings.Contains(document, "callback") {
			return c.Timeout > 0
		}
		r.do(workflow.Begin{AttemptRef: c.AttemptRef, Worker: "w1", LeaseUntil: r.now + int64(24*time.Hour)})
		r.do(workflow.ActivityResult{AttemptRef: c.AttemptRef, Pending: true})
	}
	r.now += int64(2 * time.Hour)
	r.do(workflow.Tick{})
	return strings.Contains(strings.Join(r.events(), "\n"), "TimeoutFired")
}

// scheduled is the work of step s that a worker is to do.
func scheduled(r *run) (workflow.RunActivity, bool) {
	for _, c := range Outstanding(r.p, r.s) {
		if a, ok := c.(workflow.RunActivity); ok && a.Step == "s" {
			return a, true
		}
	}
	return workflow.RunActivity{}, false
}
