package script

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Codes of the errors of scripts.
const (
	CodeSyntax  = "script.syntax"  // it is no JavaScript, or no module that can be run here
	CodeError   = "script.error"   // it threw an error without a code of its own, or ended with an exit code
	CodeMemory  = "script.memory"  // it needs more than max_memory
	CodeTimeout = "script.timeout" // it ran longer than this worker lets scripts run; a step's own `timeout` is timeout.activity
	CodeOutput  = "script.output"  // what it answered is no JSON
)

// place is where in a script something is: line and column count from 1, and are 0 when they are not known.
type place struct {
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Source string `json:"source,omitempty"` // the line
}

// String names the place for people: " (line 3, column 7: return x)"; empty if it is not known.
func (p place) String() string {
	if p.Line == 0 {
		return ""
	}
	text := fmt.Sprintf(" (line %d, column %d", p.Line, p.Column)
	if p.Source != "" {
		text += ": " + p.Source
	}
	return text + ")"
}

// maxSourceLine is how much of a line stands in an error.
const maxSourceLine = 120

// frame is how the engine writes a place of the script in a stack.
var frame = regexp.MustCompile(`script\.js:(\d+):(\d+)`)

// source is a script as errors show it: secrets that expressions put into it are masked before a line is cut out of it.
type source struct {
	script string
	mask   func(string) string
}

// line is one line of the script, cut to what stands in an error. n counts from 1.
func (s source) line(n int) string {
	lines := strings.Split(s.mask(s.script), "\n")
	if len(lines) != strings.Count(s.script, "\n")+1 {
		return "" // a secret of several lines is gone, and with it the place
	}
	text := strings.TrimSpace(lines[n-1])
	if len(text) > maxSourceLine {
		text = strings.ToValidUTF8(text[:maxSourceLine], "") + "…"
	}
	return text
}

// placeIn finds the innermost place of the script in a stack. The script starts on the second line of what the engine sees.
func placeIn(stack string, s source) place {
	m := frame.FindStringSubmatch(stack)
	if m == nil {
		return place{}
	}
	line, _ := strconv.Atoi(m[1])
	column, _ := strconv.Atoi(m[2])
	lines := strings.Split(s.script, "\n")
	if line--; line < 1 {
		return place{}
	}
	if line > len(lines) { // it ends too early: the place is its end
		line = len(lines)
		column = utf8.RuneCountInString(lines[line-1]) + 1
	}
	return place{Line: line, Column: column, Source: s.line(line)}
}

// thrown is what the engine says of an error.
type thrown struct {
	Error     bool            `json:"error"` // it is an Error, and no other value
	Name      string          `json:"name"`
	Message   string          `json:"message"`
	Stack     string          `json:"stack"`
	Code      string          `json:"code"`
	Category  string          `json:"category"`
	Retryable bool            `json:"retryable"`
	Details   json.RawMessage `json:"details"`
}

// errorCode is what a code looks like that a script gives an error of its own.
var errorCode = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// scriptError makes the typed error of one that was thrown, or found in the syntax, in a script.
func scriptError(code string, t thrown, script source) *activity.Error {
	at := placeIn(t.Stack, script)
	if code == CodeError && errorCode.MatchString(t.Code) {
		if t.Message == "" {
			t.Message = "the script says no more than this code"
		}
		e := activity.NewError(t.Code, "%s", t.Message) // as it was thrown: it may be for people
		e.Retryable, e.Details = t.Retryable, workflow.Value(t.Details)
		if c := workflow.Category(t.Category); c.Valid() {
			e.Category = c
		}
		if len(e.Details) == 0 {
			e.Details = detailsOf(at)
		}
		return e
	}
	message := t.Message
	switch {
	case t.Error && t.Name != "" && t.Name != "Error":
		message = strings.TrimSuffix(t.Name+": "+message, ": ")
	case !t.Error:
		message = "it threw " + message
	}
	e := activity.NewError(code, "%s%v", message, at)
	e.Details = detailsOf(at)
	return e
}

func detailsOf(v any) workflow.Value {
	b, err := json.Marshal(v)
	if err != nil || string(b) == "{}" {
		return nil
	}
	return b
}

// outOfMemory is the error of a script that wanted more than it may have.
func outOfMemory(limit int64, what string) *activity.Error {
	e := activity.NewError(CodeMemory, "it needs more than the %s that it may have%s: let it do less at a time, or raise limits: { max_memory } of the step", size(limit), what)
	e.Details = detailsOf(map[string]int64{"max_memory": limit})
	return e
}

// size writes a number of bytes as the language does.
func size(n int64) string {
	for _, unit := range []struct {
		name  string
		bytes int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= unit.bytes && n%unit.bytes == 0 {
			return strconv.FormatInt(n/unit.bytes, 10) + unit.name
		}
	}
	return strconv.FormatInt(n, 10) + " bytes"
}
