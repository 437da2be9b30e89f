package dsl

import (
	"slices"
	"strconv"
	"strings"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// parse reads one document into a definition: syntax only. Needs hold only the declared ones, sorted by name; Picked, Uses,
// ItemUses, InputUses, Last and implied needs are left to analyze. It reports all it finds and goes on, so the definition may
// have gaps where there were errors: a step whose kind is not readable has Kind "", what is malformed is nil or empty.
// Both results are nil where there is no tree to go on with.
//
// What parse has checked: words, kinds and shapes of all values, fixed forms (durations, times, sizes, cron, names),
// JSON Schemas, and bounds. What it has not: anything inside an expression, and whether names of steps and
// variables exist.
func parse(file string, data []byte, k *sink) (*workflow.Definition, *source) {
	s := load(file, data, k)
	if s == nil {
		return nil, nil
	}
	c := &checker{source: s, sink: k}
	workflowShape.check(c, s.root, "")
	if s.root.kind != kindObject {
		return nil, nil
	}
	p := &pass{source: s, sink: k}
	return p.definition(s.root), s
}

// pass makes a definition of a document. It reports only what the table cannot say; everything malformed is left out.
type pass struct {
	source *source
	sink   *sink
	// timeout and retry are those of `defaults`.
	timeout *workflow.Duration
	retry   *workflow.Retry
}

func (p *pass) definition(n *node) *workflow.Definition {
	limits := n.get("limits")
	def := &workflow.Definition{
		Format:      workflow.FormatV1,
		Name:        text(n.get("name")),
		Description: text(n.get("description")),
		Labels:      labels(n.get("labels")),
		Input:       schemaIn(n.get("input")),
		Limits: workflow.Limits{
			Timeout:        p.duration(limits.get("timeout")),
			MaxParallelism: p.count(limits.get("max_parallelism")),
			MaxMemory:      parseSize(text(limits.get("max_memory"))),
			Retries:        p.count(limits.get("retries")),
		},
		OnFailure: workflow.OnFailure(textOr(n.get("on_failure"), string(workflow.OnFailureFail))),
		OnExit:    stepNamesIn(n.get("on_exit")),
		Output:    p.source.template(n.get("output")),
	}
	for _, e := range n.get("vars").pairs() {
		def.Vars = append(def.Vars, workflow.Var{Name: e.key.text, Initial: p.source.template(e.value)})
	}
	for _, item := range n.get("triggers").list() {
		def.Triggers = append(def.Triggers, p.trigger(item))
	}
	defaults := n.get("defaults")
	p.timeout, p.retry = p.duration(defaults.get("timeout")), p.retryPolicy(defaults.get("retry"))
	def.Body = p.body(n.get("steps"), "/steps")
	for i := range def.Body.Steps {
		def.Body.Steps[i].Exit = slices.Contains(def.OnExit, def.Body.Steps[i].Name)
	}
	return def
}

func labels(n *node) []workflow.Label {
	var all []workflow.Label
	for _, e := range n.pairs() {
		all = append(all, workflow.Label{Key: e.key.text, Value: text(e.value)})
	}
	slices.SortFunc(all, func(a, b workflow.Label) int { return strings.Compare(a.Key, b.Key) })
	return all
}

func (p *pass) trigger(n *node) workflow.Trigger {
	var t workflow.Trigger
	if e := n.get("event"); e != nil {
		t.Event = &workflow.EventTrigger{
			Source: text(e.get("source")),
			Type:   text(e.get("type")),
			Match:  p.source.expression(e.get("match")),
			Input:  p.source.template(e.get("input")),
		}
	}
	if s := n.get("schedule"); s != nil {
		t.Schedule = &workflow.ScheduleTrigger{
			Cron:     text(s.get("cron")),
			Every:    fixed(s.get("every")),
			At:       text(s.get("at")),
			Timezone: text(s.get("timezone")),
			Exclude:  texts(s.get("exclude")),
			OnDates:  texts(s.get("on_dates")),
			Overlap:  textOr(s.get("overlap"), "skip"),
			CatchUp:  fixed(s.get("catch_up")),
			Input:    p.source.template(s.get("input")),
		}
	}
	if w := n.get("webhook"); w != nil {
		verify := w.get("verify")
		t.Webhook = &workflow.WebhookTrigger{
			Path: text(w.get("path")),
			Verify: workflow.Verify{
				HMACSHA256: text(verify.get("hmac_sha256")),
				Header:     text(verify.get("header")),
				Bearer:     text(verify.get("bearer")),
			},
			Input: p.source.template(w.get("input")),
		}
		if e := w.get("emit"); e != nil {
			t.Webhook.Emit = &workflow.Emit{Type: p.source.template(e.get("type")), Key: p.source.bare(e.get("key")), Data: p.source.template(e.get("data"))}
		}
		if v := &t.Webhook.Verify; v.HMACSHA256 != "" && v.Header == "" {
			v.Header = "X-Signature"
		}
	}
	return t
}

// ---- values ----

// text returns the text of a string, and "" for everything else.
func text(n *node) string {
	if n == nil || n.kind != kindString {
		return ""
	}
	return n.text
}

func textOr(n *node, fallback string) string {
	if s := text(n); s != "" {
		return s
	}
	return fallback
}

func texts(n *node) []string {
	var all []string
	for _, item := range n.list() {
		if s := text(item); s != "" {
			all = append(all, s)
		}
	}
	return all
}

// stepNamesIn returns a step name or a list of them as a list.
func stepNamesIn(n *node) []string {
	if s := text(n); s != "" {
		return []string{s}
	}
	return texts(n)
}

func isTrue(n *node) bool { return n != nil && n.kind == kindBool && n.text == "true" }

// schemaIn returns the JSON Schema of a block such as `input: { schema: … }`.
func schemaIn(n *node) workflow.Value {
	return schemaOf(n.get("schema"))
}

func schemaOf(n *node) workflow.Value {
	if n == nil || n.kind != kindObject && n.kind != kindBool {
		return nil
	}
	return n.value()
}

// duration returns a fixed duration or the expression of one; nil where there is none.
func (p *pass) duration(n *node) *workflow.Duration {
	if n == nil || n.kind != kindString {
		return nil
	}
	if strings.Contains(n.text, "${") {
		if x := p.source.expression(n); x != nil {
			return &workflow.Duration{Expr: x}
		}
		return nil
	}
	d, err := expr.ParseDuration(n.text)
	if err != nil {
		return nil
	}
	return &workflow.Duration{Fixed: int64(d)}
}

func (p *pass) durations(n *node) []workflow.Duration {
	var all []workflow.Duration
	for _, item := range n.list() {
		if d := p.duration(item); d != nil {
			all = append(all, *d)
		}
	}
	return all
}

// fixed returns a duration that cannot be an expression, in nanoseconds.
func fixed(n *node) int64 {
	d, err := expr.ParseDuration(text(n))
	if err != nil {
		return 0
	}
	return int64(d)
}

// count returns a fixed whole number or the expression of one; nil where there is none.
func (p *pass) count(n *node) *workflow.Count {
	switch {
	case n == nil:
		return nil
	case n.kind == kindInt:
		i, _ := strconv.ParseInt(n.text, 10, 64) // load keeps only numbers that fit
		return &workflow.Count{Fixed: i}
	case n.kind == kindString && strings.Contains(n.text, "${"):
		if x := p.source.expression(n); x != nil {
			return &workflow.Count{Expr: x}
		}
	}
	return nil
}

func (p *pass) countOr(n *node, fallback int64) workflow.Count {
	if c := p.count(n); c != nil {
		return *c
	}
	return workflow.Count{Fixed: fallback}
}

func share(n *node) float64 {
	if n == nil || n.kind != kindInt && n.kind != kindFloat {
		return 0
	}
	f, _ := strconv.ParseFloat(n.text, 64) // load keeps only numbers that fit
	return f
}
