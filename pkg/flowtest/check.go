package flowtest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Failure is one thing that is not as a case expects.
type Failure struct {
	// At is the place in the test file.
	At workflow.Position
	// Message is one line; Detail are further ones, such as a difference.
	Message string
	Detail  []string
}

// checker holds what happened against what a case expects.
type checker struct {
	w        *world
	failures []Failure
}

func (k *checker) failf(at workflow.Position, detail []string, format string, args ...any) {
	k.failures = append(k.failures, Failure{At: at, Message: fmt.Sprintf(format, args...), Detail: detail})
}

// check returns all that is not as expected. stopped is why the case could not go on, or nil.
func check(w *world, stopped error) []Failure {
	k := &checker{w: w}
	if stopped != nil {
		k.broken(stopped)
		return k.failures
	}
	if h := w.lacking(); h != nil && !w.stopped {
		k.failf(h.given.at, nil, "this never happened: step %s never became ready", h.given.once)
	}
	k.end()
	k.lists()
	k.callsAndSteps()
	slices.SortStableFunc(k.failures, func(a, b Failure) int { return cmp.Compare(a.At.Line, b.At.Line) })
	return k.failures
}

// broken reports why a case could not go on.
func (k *checker) broken(err error) {
	at := k.w.c.At
	if g := (*givenError)(nil); errors.As(err, &g) {
		at = g.at
	}
	if m := (*missing)(nil); errors.As(err, &m) {
		k.failf(at, []string{m.hint}, "%s", m.text)
		return
	}
	k.failf(at, nil, "%s", err)
}

// end checks how the execution stands.
func (k *checker) end() {
	e, s := &k.w.c.expect, k.w.main.state
	if got := s.Status.String(); e.has("status") && got != e.status {
		k.failf(e.at["status"], k.why(), "status is %s, expected %s", got, e.status)
	} else if !e.has("status") && !s.Status.Terminal() {
		why := "nothing more happens"
		if k.w.stopped {
			why = "`stop_after` ends the test"
		}
		k.failf(k.w.c.At, k.why(), "it does not end: status is %s and %s; say `status: %s` if that is meant", got, why, got)
	}
	outcome := ""
	if s.Ending != nil {
		outcome = string(s.Ending.Outcome)
	}
	if e.has("outcome") && outcome != e.outcome {
		k.failf(e.at["outcome"], k.why(), "outcome is %s, expected %s", orNone(outcome), e.outcome)
	}
	if e.compensated != nil && *e.compensated != s.Compensated {
		k.failf(e.at["compensated"], nil, "compensated is %t, expected %t", s.Compensated, *e.compensated)
	}
	if e.output != nil {
		k.value(e.at["output"], "output", *e.output, workflow.Value(filled(s.Output)))
	}
	if e.error != nil {
		k.pattern(e.at["error"], "error", e.error, errorValue(k.failure()))
	}
	if e.vars != nil {
		k.value(e.at["vars"], "the value of vars", *e.vars, k.vars())
	}
	if e.has("took") {
		if took := k.w.took(); took != e.took {
			k.failf(e.at["took"], nil, "it took %s, expected %s", shortTime(took)[1:], shortTime(e.took)[1:])
		}
	}
	if e.has("waits") {
		var got []string
		if s.Status == fsm.WorkflowStateWaiting() {
			for _, r := range k.w.record.waits {
				got = append(got, r.String())
			}
		}
		k.lines(e.at["waits"], "the list of what it waits for", e.waits, got)
	}
}

func orNone(s string) string {
	if s == "" {
		return "not decided"
	}
	return s
}

// failure is the error of the execution, also of one whose work was undone.
func (k *checker) failure() *workflow.Error {
	s := k.w.main.state
	if s.Error == nil && s.Ending != nil {
		return s.Ending.Error
	}
	return s.Error
}

// why explains a status that was not expected.
func (k *checker) why() []string {
	if err := k.failure(); err != nil {
		line := "because of " + err.Error()
		if e := k.w.main.state.Ending; e != nil && e.Step != "" {
			line += ", in step " + e.Step
		}
		return []string{line}
	}
	if k.w.main.state.Status == fsm.WorkflowStateWaiting() {
		var reasons []string
		for _, r := range k.w.record.waits {
			reasons = append(reasons, r.String())
		}
		return []string{"it waits for: " + strings.Join(reasons, ", ")}
	}
	return nil
}

func (k *checker) vars() workflow.Value {
	all := map[string]any{}
	for _, v := range k.w.record.vars {
		all[v.Name] = filled(v.Value)
	}
	return canonical(all)
}

func errorValue(e *workflow.Error) workflow.Value {
	if e == nil {
		return workflow.Null
	}
	return canonical(e)
}

// lists checks the lists of steps.
func (k *checker) lists() {
	e, r := &k.w.c.expect, &k.w.record
	if e.has("path") {
		k.lines(e.at["path"], "the path", e.path, r.path)
	}
	if e.has("failed") {
		k.lines(e.at["failed"], "the list of failed steps", e.failed, r.failed)
	}
	if e.has("undone") {
		k.lines(e.at["undone"], "the list of what was undone", e.undone, r.undone)
	}
	for _, step := range e.ran {
		if !k.ran(step) {
			k.failf(e.at["ran"], nil, "step %s did not run: it is %s", step, k.status(step))
		}
	}
	for _, step := range e.notRan {
		if k.ran(step) {
			k.failf(e.at["not_ran"], nil, "step %s ran: it is %s", step, k.status(step))
		}
	}
	for _, step := range e.skipped {
		if got := k.status(step); got != "skipped" && got != "dead" {
			k.failf(e.at["skipped"], nil, "step %s was not skipped: it is %s", step, got)
		}
	}
	if e.has("emitted") {
		k.patterns(e.at["emitted"], "emitted events", e.emitted, r.emitted)
	}
}

// status is how a step ended that a test names with or without indexes.
func (k *checker) status(step string) string {
	if e := k.w.record.ended[step]; e != nil {
		return e.status
	}
	return "pending"
}

func (k *checker) ran(step string) bool {
	for name, e := range k.w.record.ended {
		if (name == step || plainPath(name) == step) && (e.status == "completed" || e.status == "caught") {
			return true
		}
	}
	return false
}

func (k *checker) callsAndSteps() {
	e, r := &k.w.c.expect, &k.w.record
	for _, c := range e.calls {
		got := r.calls[c.step]
		if c.like == nil {
			if len(got) != c.count {
				k.failf(c.at, nil, "%s, expected %s", plural(len(got), "call")+" of "+c.step, strconv.Itoa(c.count))
			}
			continue
		}
		k.patterns(c.at, "calls of "+c.step, c.like, got)
	}
	for _, want := range e.steps {
		got := r.ended[want.step]
		if got == nil {
			got = &ended{status: "pending"}
		}
		if want.status != "" && got.status != want.status {
			k.failf(want.at, nil, "step %s is %s, expected %s", want.step, got.status, want.status)
		}
		if want.attempts != 0 && got.attempts != want.attempts {
			k.failf(want.at, nil, "step %s made %s, expected %d", want.step, plural(got.attempts, "attempt"), want.attempts)
		}
		if want.output != nil {
			k.pattern(want.at, "the output of step "+want.step, want.output, got.output)
		}
		if want.error != nil {
			k.pattern(want.at, "the error of step "+want.step, want.error, errorValue(got.error))
		}
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// value compares two values.
func (k *checker) value(at workflow.Position, what string, want, got workflow.Value) {
	if want.String() != got.String() {
		k.failf(at, difference(pretty(want), pretty(got)), "%s differs", what)
	}
}

// pattern holds a value against a pattern.
func (k *checker) pattern(at workflow.Position, what string, want *workflow.Template, got workflow.Value) {
	ok, err := matches(want, got)
	switch {
	case err != nil:
		k.failf(at, nil, "%s: %s", what, err)
	case !ok:
		k.failf(at, difference(pretty(want.JSON), pretty(pruned(want.JSON, got))), "%s does not fit", what)
	}
}

// patterns holds a list of values against one of patterns.
func (k *checker) patterns(at workflow.Position, what string, want []*workflow.Template, got []workflow.Value) {
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(want):
			k.failf(at, pretty(got[i]), "%s: one more than the %d expected", what, len(want))
			return
		case i >= len(got):
			k.failf(at, pretty(want[i].JSON), "%s: %d, expected %d; this one is missing", what, len(got), len(want))
			return
		}
		k.pattern(at, what+", number "+strconv.Itoa(i+1), want[i], got[i])
	}
}

func (k *checker) lines(at workflow.Position, what string, want, got []string) {
	if !slices.Equal(want, got) {
		k.failf(at, difference(want, got), "%s differs", what)
	}
}
