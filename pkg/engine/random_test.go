package engine_test

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// author writes random workflows that the compiler accepts: every kind of step, bodies in bodies, all policies.
type author struct {
	*rapid.T
	names int
	steps int // that may still be written
}

func (a *author) below(n int, what string) int { return rapid.IntRange(0, n-1).Draw(a.T, what) }

func (a *author) one(in int, what string) bool { return a.below(in, what) == 0 }

func (a *author) pick(what string, list ...string) string { return list[a.below(len(list), what)] }

// workflow is a whole document.
func (a *author) workflow() string {
	a.steps = 3 + a.below(10, "steps")
	var b strings.Builder
	b.WriteString("dsl: wovyr/v1\nname: random\nvars: { total: 0 }\n")
	fmt.Fprintf(&b, "on_failure: %s\n", a.pick("on_failure", "fail", "compensate", "compensate", "pause"))
	if a.one(3, "limits") {
		fmt.Fprintf(&b, "limits: { max_parallelism: %d, retries: %d, timeout: %s }\n", 1+a.below(4, "parallel"), 1+a.below(5, "retries"),
			a.pick("timeout", "1h", "30d"))
	}
	exit := a.one(3, "on_exit")
	if exit {
		b.WriteString("on_exit: [last]\n")
	}
	b.WriteString("steps:\n" + a.body("  ", 3))
	if exit {
		b.WriteString("  last: { function: last, retry: { attempts: 2, delay: 1s }, with: { outcome: '${ execution.outcome }' } }\n")
	}
	return b.String()
}

// body writes the steps of one body.
func (a *author) body(indent string, depth int) string {
	n := 1 + a.below(4, "body")
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("s%d", a.names)
		a.names++
	}
	picked := map[string]bool{}
	var b strings.Builder
	for i, name := range names {
		later := unpicked(names[i+1:], picked)
		before := append([]string(nil), names[:i]...)
		step := a.step(indent+"  ", depth, before, &later, picked[name])
		for _, q := range names[i+1:] {
			if !has(later, q) {
				picked[q] = true
			}
		}
		fmt.Fprintf(&b, "%s%s:\n%s", indent, name, step)
	}
	return b.String()
}

func unpicked(names []string, picked map[string]bool) []string {
	var out []string
	for _, n := range names {
		if !picked[n] {
			out = append(out, n)
		}
	}
	return out
}

func has(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// take removes a random name from a list, if there is one.
func (a *author) take(list *[]string) string {
	if len(*list) == 0 {
		return ""
	}
	i := a.below(len(*list), "take")
	name := (*list)[i]
	*list = append(append([]string(nil), (*list)[:i]...), (*list)[i+1:]...)
	return name
}

// step writes one step: kind, needs and policies. Steps that it picks leave later.
func (a *author) step(indent string, depth int, before []string, later *[]string, picked bool) string {
	a.steps--
	line := func(format string, args ...any) string { return indent + fmt.Sprintf(format, args...) + "\n" }
	needs := ""
	if !picked {
		needs = a.needs(before, line)
	}
	when := ""
	if a.one(6, "when") {
		when = line("when: input.%s", a.pick("flag", "yes", "no"))
	}
	kind, call := a.kind(indent, depth, later, line)
	policies := ""
	if call {
		policies = a.policies(line)
		if a.one(5, "on_error") {
			if to := ""; a.one(2, "then") {
				if to = a.take(later); to != "" {
					policies += line("on_error: [ { match: 'error.code != \"worst\"', then: %s } ]", to)
				}
			} else {
				policies += line("on_error: [ { continue: caught } ]")
			}
		}
	}
	if a.one(3, "compensate") && (call || strings.Contains(kind, "group:")) {
		on := ""
		if a.one(3, "attempted") && call {
			on = ", on: attempted"
		}
		policies += line("compensate: { function: undo, with: { of: '${ output }' }, retry: { attempts: 2, delay: 1s }%s }", on)
	}
	return needs + when + kind + policies
}

func (a *author) needs(before []string, line func(string, ...any) string) string {
	var list []string
	for _, b := range before {
		if a.one(3, "need") {
			switch end := a.pick("end", "", "", "", "ended", "failed", "completed", "skipped"); end {
			case "":
				list = append(list, b)
			default:
				list = append(list, fmt.Sprintf("{ %s: %s }", b, end))
			}
		}
	}
	if len(list) == 0 {
		return ""
	}
	out := line("needs: [ %s ]", strings.Join(list, ", "))
	if len(list) > 1 && a.one(3, "join") {
		out += line("join: %s", a.pick("mode", "any", "1", "2"))
		if a.one(2, "cancel_rest") {
			out += line("cancel_rest: true")
		}
	}
	return out
}

// kind writes what the step does; call says that a worker runs it.
func (a *author) kind(indent string, depth int, later *[]string, line func(string, ...any) string) (text string, call bool) {
	deep := depth > 0 && a.steps > 0
	switch a.below(20, "kind") {
	case 0:
		return line("value: '${ input.n + 1 }'"), false
	case 1:
		return line("timer: { for: %s }", a.pick("wait", "1s", "10m", "2h")), false
	case 2:
		return line("event: { type: %s }", a.pick("type", "Go", "Stop")) + line("wait_timeout: 1d"), false
	case 3:
		return line("human: { title: decide, assignees: [ 'user:a' ], timeout: 2d, on_reject: %s, on_timeout: %s, notify: { function: tell } }",
			a.pick("on_reject", "fail", "continue"), a.pick("on_timeout", "fail", "continue")), false
	case 4:
		return line("workflow: { name: child, on_parent_close: %s, wait: %s }", a.pick("close", "cancel", "abandon"), a.pick("wait", "true", "true", "false")), true
	case 5:
		return line("set: { total: { value: '${ 1 }', reduce: sum } }"), false
	case 6:
		return line("emit: { type: Done, data: { n: '${ input.n }' } }"), false
	case 7:
		if x := a.take(later); x != "" {
			if y := a.take(later); y != "" {
				return line("switch: [ { when: input.%s, then: %s }, { else: %s } ]", a.pick("flag", "yes", "no"), x, y), false
			}
			return line("switch: [ { when: input.%s, then: %s } ]", a.pick("flag", "yes", "no"), x), false
		}
	case 8:
		if deep {
			return a.foreach(indent, depth), false
		}
	case 9:
		if deep {
			return line("loop:") + line("  max: %d", 1+a.below(3, "max")) + line("  on_max: %s", a.pick("on_max", "stop", "stop", "fail")) +
				a.maybe(3, "delay", line("  delay: 5s")) + line("  steps:") + a.body(indent+"    ", depth-1), false
		}
	case 10:
		if deep {
			return line("race:") + line("  x:") + line("    steps:") + a.body(indent+"      ", depth-1) + line("  y:") + line("    steps:") + a.body(indent+"      ", depth-1), false
		}
	case 11:
		if deep {
			return line("group:") + line("  steps:") + a.body(indent+"    ", depth-1) + a.maybe(4, "timeout", line("timeout: 1h")), false
		}
	case 12:
		return line("function: slow") + line("callback: true") + line("wait_timeout: 1d"), true
	case 13:
		return line("ai: { model: default, prompt: 'n is ${ input.n }', tools: [ search ] }"), true
	case 14:
		return line("fail: { code: %s, message: 'n is ${ input.n }' }", a.pick("code", "worst", "mine")), false
	case 15:
		if x := a.take(later); x != "" {
			return line("match: '${ input }'") + line("cases: [ { like: { n: %s }, then: %s } ]", a.pick("like", "1", "2", "$n", "'${ value > 0 }'"), x), false
		}
	case 16:
		if a.one(4, "anew") {
			return line("continue_as_new: { input: { n: '${ input.n + 1 }' } }"), false
		}
		return line("value: '${ input.nothing }'") + line("on_error: [ { continue: none } ]"), false
	}
	if reads := a.reads(indent); reads != "" {
		return line("function: f") + line("with: { n: '${ input.n }', more: '${ %s }' }", reads), true
	}
	return line("function: f") + line("with: { n: '${ input.n }' }"), true
}

// reads is an expression over what bodies around the step bind, or nothing.
func (a *author) reads(string) string {
	return a.pick("reads", "", "", "execution.id", "uuid(execution.id)", "string(execution.started_at)")
}

func (a *author) maybe(in int, what, text string) string {
	if a.one(in, what) {
		return text
	}
	return ""
}

func (a *author) foreach(indent string, depth int) string {
	line := func(format string, args ...any) string { return indent + fmt.Sprintf(format, args...) + "\n" }
	items := a.below(5, "items")
	if a.one(8, "shards") {
		items = 300
	}
	out := line("foreach:") + line("  items: '${ range(%d) }'", items) + line("  as: item")
	out += a.maybe(2, "parallel", line("  max_parallelism: 2")) + a.maybe(2, "tolerate", line("  tolerate_failures: 1")) +
		a.maybe(4, "until", line("  until: collected.size() >= 2"))
	return out + line("  steps:") + a.body(indent+"    ", depth-1)
}

func (a *author) policies(line func(string, ...any) string) string {
	out := ""
	if a.one(2, "retry") {
		out += line("retry: { attempts: %d, strategy: %s, delay: %s, on: [ external, timeout ] }", 1+a.below(3, "attempts"),
			a.pick("strategy", "fixed", "linear", "exponential"), a.pick("delay", "0s", "1s", "1m"))
	}
	if a.one(3, "timeout") {
		out += line("timeout: %s", a.pick("limit", "10s", "5m"))
	}
	if a.one(6, "schedule") {
		out += line("schedule_timeout: 1m")
	}
	if a.one(5, "idempotent") {
		out += line("idempotent: %s", a.pick("is", "true", "false"))
	}
	if a.one(6, "recoveries") {
		out += line("max_recoveries: 1")
	}
	return out
}
