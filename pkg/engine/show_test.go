package engine_test

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// How events, commands and states read in scenarios: the type, the step, then every field that is not zero, by its
// JSON name. Times are shown from the start of the story on.

// storyStart is when every story starts, a Monday.
var storyStart = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC).UnixNano()

// times and lengths are fields of type int64 that hold a time or a length of time.
var (
	times = map[string]bool{
		"at": true, "schedule_by": true, "started_at": true, "lease_until": true, "timeout_at": true, "wait_by": true,
		"remind": true, "escalate": true, "created_at": true, "ended_at": true, "due_at": true, "received_at": true, "ready_at": true,
		"first_at": true, "wake_at": true,
	}
	lengths = map[string]bool{"timeout": true, "heartbeat": true}
)

func showEvent(r workflow.Recorded) string {
	return fmt.Sprintf("%d %s", r.Version, showNoun(r.Event.Type().String(), r.Event))
}

// showCommand leaves out what is the same for all attempts of an execution; TestAttemptNamesItsExecution looks at that.
func showCommand(c workflow.Command) string {
	if run, ok := c.(workflow.RunActivity); ok {
		run.Workflow, run.Correlation = "", ""
		c = run
	}
	return "> " + showNoun(c.CommandType(), c)
}

func showCommands(list []workflow.Command) []string {
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = showCommand(c)
	}
	return out
}

func lines(lines []string) string { return strings.Join(lines, "\n") }

// showDecision is all that came out of a decision.
func showDecision(d engine.Decision) string {
	var out []string
	for _, r := range d.Events {
		out = append(out, showEvent(r))
	}
	out = append(out, showCommands(d.Commands)...)
	for _, a := range d.Revoke {
		out = append(out, showNoun("! revoke", a))
	}
	for _, a := range d.Abort {
		out = append(out, showNoun("! abort", a))
	}
	if d.More {
		out = append(out, "! more")
	}
	if len(out) == 0 {
		return "nothing"
	}
	return lines(out)
}

// showNoun is a type and the fields of a struct; the field "step" goes first, without its name.
func showNoun(name string, v any) string {
	fields := showFields(reflect.ValueOf(v))
	line := name
	for i, f := range fields {
		if step, ok := strings.CutPrefix(f, "step="); ok {
			line += " " + step
			fields = append(fields[:i:i], fields[i+1:]...)
			break
		}
	}
	for _, f := range fields {
		line += " " + f
	}
	return line
}

func showFields(v reflect.Value) []string {
	var out []string
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			out = append(out, showFields(v.Field(i))...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || v.Field(i).IsZero() {
			continue
		}
		out = append(out, name+"="+showValue(name, v.Field(i)))
	}
	return out
}

// longest is how many entries of a list are shown.
const longest = 12

func showValue(name string, v reflect.Value) string {
	switch x := v.Interface().(type) {
	case workflow.Payload:
		return showPayload(x)
	case workflow.Value:
		return x.String()
	case *workflow.Error:
		return showError(x)
	case encoding.TextMarshaler:
		text, _ := x.MarshalText() // tells more apart than String, and fails for none that an engine makes
		return string(text)
	case string:
		return showText(x)
	case int64:
		return showNumber(name, x)
	case bool:
		return strconv.FormatBool(x)
	}
	switch v.Kind() {
	case reflect.Pointer:
		return showValue(name, v.Elem())
	case reflect.Slice:
		parts := make([]string, min(v.Len(), longest))
		for i := range parts {
			parts[i] = showValue(name, v.Index(i))
		}
		if more := v.Len() - longest; more > 0 {
			parts = append(parts, fmt.Sprintf("…(%d more)", more))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case reflect.Struct:
		return "{" + strings.Join(showFields(v), " ") + "}"
	case reflect.String:
		return showText(v.String())
	}
	return fmt.Sprint(v.Interface())
}

func showNumber(name string, n int64) string {
	switch {
	case times[name]:
		return showTime(n)
	case lengths[name]:
		return time.Duration(n).String()
	}
	return strconv.FormatInt(n, 10)
}

// showTime gives a time as its distance from the start of the story.
func showTime(at int64) string {
	d := time.Duration(at - storyStart)
	if days := d / (24 * time.Hour); days > 0 {
		rest := short(d % (24 * time.Hour))
		if rest == "0s" {
			rest = ""
		}
		return fmt.Sprintf("+%dd%s", days, rest)
	}
	if d < 0 {
		return short(d)
	}
	return "+" + short(d)
}

// short drops the zeros that time.Duration prints behind hours and minutes.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func showText(s string) string {
	plain := s != ""
	for _, r := range s {
		if r <= ' ' || strings.ContainsRune(`"=[]{}`, r) {
			plain = false
		}
	}
	if plain {
		return s
	}
	text, _ := json.Marshal(s)
	return string(text)
}

func showPayload(p workflow.Payload) string {
	text := p.JSON.String()
	if len(text) > 400 {
		text = fmt.Sprintf("%s…(%d bytes)", text[:100], len(text))
	}
	for _, h := range p.Holes {
		text += " hole" + "{" + strings.Join(showFields(reflect.ValueOf(h)), " ") + "}"
	}
	return text
}

func showError(e *workflow.Error) string {
	text := e.Code + "(" + string(e.Category)
	if e.Retryable {
		text += ",retryable"
	}
	text += ")"
	if e.Message != "" {
		text += strconv.Quote(e.Message)
	}
	if len(e.Details) > 0 {
		text += e.Details.String()
	}
	return text
}

// showStatus is one line about a state: where it stands, how it ends, and its next deadline.
func showStatus(p *engine.Program, s *workflow.State) string {
	if s == nil || s.Version == 0 {
		return "= no execution"
	}
	line := "= " + s.Status.String()
	if s.Status.Terminal() {
		line += " outcome=" + string(s.Ending.Outcome)
		if s.Compensated {
			line += " compensated"
		}
		if !s.Output.IsZero() {
			line += " output=" + showPayload(s.Output)
		}
		if s.Error != nil {
			line += " error=" + showError(s.Error)
		}
		return line
	}
	if at, ok := engine.Due(p, s); ok {
		line += " due=" + showTime(at)
	}
	return line
}
