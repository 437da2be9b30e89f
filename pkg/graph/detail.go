package graph

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// detail says in a few words what a step does.
func detail(s *workflow.Step) string {
	switch {
	case s.Call != nil:
		return callDetail(s.Kind, s.Call)
	case s.Timer != nil:
		return timerDetail(s.Timer)
	case s.Human != nil:
		return text(s.Human.Title)
	case s.Event != nil:
		return eventDetail(s.Event)
	case s.Child != nil:
		return text(s.Child.Name) + prefixed(" ", text(s.Child.Version))
	case s.Match != nil:
		return text(s.Match.Value)
	case s.Foreach != nil:
		return s.Foreach.As + " in " + text(s.Foreach.Items)
	case s.Loop != nil:
		return loopDetail(s.Loop)
	case s.Value != nil:
		return text(s.Value)
	case s.Set != nil:
		return setDetail(s.Set)
	case s.Emit != nil:
		return text(s.Emit.Type)
	case s.Fail != nil:
		return text(s.Fail.Code)
	}
	return ""
}

// callDetail shows what a call is of: its name, or the most telling words of its target.
func callDetail(kind workflow.Kind, c *workflow.Call) string {
	if c.Name != "" {
		return oneLine(c.Name)
	}
	words := map[workflow.Kind][]string{
		workflow.KindFunction: {"name", "arn", "command", "url"},
		workflow.KindHTTP:     {"method", "url"},
		workflow.KindGRPC:     {"method"},
		workflow.KindAI:       {"model"},
		workflow.KindTool:     {"name"},
	}[kind]
	if c.Target == nil {
		return ""
	}
	var target map[string]workflow.Value
	if json.Unmarshal(c.Target.JSON, &target) != nil {
		return text(c.Target)
	}
	if kind == workflow.KindScript {
		for _, language := range []string{"js", "wasm"} {
			if _, ok := target[language]; ok {
				return language
			}
		}
	}
	var parts []string
	for _, w := range words {
		if v, ok := target[w]; ok {
			parts = append(parts, valueText(v))
		}
	}
	return strings.Join(parts, " ")
}

func timerDetail(t *workflow.Timer) string {
	switch {
	case t.For != nil:
		return "for " + durationText(*t.For)
	case t.Until != nil:
		return "until " + text(t.Until)
	}
	return "cron " + oneLine(t.Cron) + prefixed(" ", oneLine(t.Timezone))
}

func eventDetail(e *workflow.EventWait) string {
	types := make([]string, len(e.Any))
	for i, p := range e.Any {
		types[i] = oneLine(p.Type)
	}
	return strings.Join(types, " or ")
}

func loopDetail(l *workflow.Loop) string {
	most := "at most " + countText(l.Max) + " times"
	switch {
	case l.While != nil:
		return "while " + oneLine(l.While.Source) + ", " + most
	case l.Until != nil:
		return "until " + oneLine(l.Until.Source) + ", " + most
	}
	return most
}

func setDetail(s *workflow.Set) string {
	names := make([]string, len(s.Assign))
	for i, a := range s.Assign {
		names[i] = oneLine(a.Var) + prefixed(" by ", a.Reduce)
	}
	return strings.Join(names, ", ")
}

// notes are the lines below a step's detail.
func notes(s *workflow.Step) (lines []string) {
	if s.When != nil {
		lines = append(lines, "when "+oneLine(s.When.Source))
	}
	switch s.Join.Mode {
	case workflow.JoinAny:
		lines = append(lines, "any of "+strconv.Itoa(len(s.Needs)))
	case workflow.JoinCount:
		if s.Join.Count != nil {
			lines = append(lines, countText(*s.Join.Count)+" of "+strconv.Itoa(len(s.Needs)))
		}
	}
	if c := s.Compensate; c != nil {
		undo := oneLine(string(c.Kind))
		if c.Call != nil {
			undo += prefixed(" ", callDetail(c.Kind, c.Call))
		}
		if c.Child != nil {
			undo += " " + text(c.Child.Name)
		}
		lines = append(lines, "undo: "+undo)
	}
	return lines
}

// text is a template as people wrote it, on one line.
func text(t *workflow.Template) string {
	if t == nil {
		return ""
	}
	return valueText(t.JSON)
}

// valueText is a text without its quotes, or JSON.
func valueText(v workflow.Value) string {
	var s string
	if json.Unmarshal(v, &s) == nil && !v.IsNull() {
		return oneLine(braceless(s))
	}
	return oneLine(v.String())
}

// braceless takes the braces off a text that is one expression.
func braceless(s string) string {
	inner, ok := strings.CutPrefix(s, "${")
	if inner, closed := strings.CutSuffix(inner, "}"); ok && closed && !strings.Contains(inner, "${") {
		return inner
	}
	return s
}

// oneLine folds all white space, and control characters with it, into single blanks.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || 0x80 <= r && r < 0xa0 || r == 0x2028 || r == 0x2029 }), " ")
}

func countText(c workflow.Count) string {
	if c.Expr != nil {
		return oneLine(c.Expr.Source)
	}
	return strconv.FormatInt(c.Fixed, 10)
}

// durationText writes a duration as the language does: 1d12h.
func durationText(d workflow.Duration) string {
	if d.Expr != nil {
		return oneLine(d.Expr.Source)
	}
	const day = int64(24 * time.Hour)
	days, rest := d.Fixed/day, d.Fixed%day
	s := ""
	if days > 0 {
		s = strconv.FormatInt(days, 10) + "d"
	}
	if rest == 0 && days > 0 {
		return s
	}
	s += time.Duration(rest).String()
	if t, ok := strings.CutSuffix(s, "m0s"); ok {
		s = t + "m"
	}
	if t, ok := strings.CutSuffix(s, "h0m"); ok {
		s = t + "h"
	}
	return s
}
