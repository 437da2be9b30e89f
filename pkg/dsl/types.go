package dsl

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// want is what an expression has to yield.
type want uint8

const (
	wantAny want = iota
	wantBool
	wantCount
	wantDuration
	wantTime
	wantList
	wantText
	wantTextOrList
)

// wants says for each want what fits, how it is called, and what to write instead.
var wants = [...]struct {
	types []*expr.Type
	name  string
	hint  string
}{
	wantBool:     {[]*expr.Type{expr.Bool}, "true or false", "write a comparison, such as input.total > 0"},
	wantCount:    {[]*expr.Type{expr.Number}, "a whole number", "write int(…) around it"},
	wantDuration: {[]*expr.Type{expr.Duration, expr.String}, "a duration", "write duration(\"90s\"), a text such as \"90s\", or string(x) + \"s\" for a number of seconds"},
	wantTime:     {[]*expr.Type{expr.Timestamp, expr.String}, "a time", "write timestamp(…), or a text such as 2027-01-31T09:00:00Z"},
	wantList:     {[]*expr.Type{expr.ListOf(expr.Dyn)}, "a list", "write [x] for a single item, or entries(x) for a map"},
	wantText: {[]*expr.Type{expr.String, expr.Number, expr.Bool, expr.Timestamp, expr.Duration}, "a text",
		"write it into a text, as in 'no. ${ … }', or json.encode(…) around it"},
	wantTextOrList: {[]*expr.Type{expr.String, expr.ListOf(expr.Dyn)}, "a text or a list of texts", "write a name such as 'role:cfo'"},
}

// checkTypes compiles every expression with the types of the names it reads. Steps are taken in the order in which they
// run, so that the type of what a step reads is known.
func (a *analysis) checkTypes() {
	a.input = a.schemaType(a.def.Input)
	for _, s := range a.sites {
		if s.unit == nil && s.moment == momentOutside {
			a.check(s)
		}
	}
	a.varTypes()
	a.checkBlock(a.root)
	for _, s := range a.sites {
		if s.unit == nil && s.moment == momentEnd {
			a.check(s)
		}
	}
}

func (a *analysis) checkBlock(b *block) {
	for _, i := range b.flow.order {
		if i < len(b.units) {
			a.checkUnit(b.units[i])
		}
	}
}

// checkUnit checks the expressions of a step in the order in which they get their values: first what it needs to start, then
// its body, then what is read of the body, then what reads its own result.
func (a *analysis) checkUnit(u *unit) {
	late := func(s *site) bool { return s.names&(nameOutput|nameCollected) != 0 }
	for _, s := range u.sites {
		if s.block == u.block && !late(s) {
			a.check(s)
		}
	}
	for _, b := range u.inner {
		a.checkBlock(b)
	}
	for _, s := range u.sites {
		if s.block != u.block {
			a.check(s)
		}
	}
	u.output = a.outputType(u)
	for _, s := range u.sites {
		if late(s) {
			a.check(s)
		}
	}
	a.checkAssigned(u)
}

// check compiles one site and reports what is wrong with it.
func (a *analysis) check(s *site) {
	a.checkRoots(s)
	s.typ = expr.Dyn
	if s.expr == nil && len(s.tmpl.Leaves) == 0 && !s.like {
		s.typ = constantType(s.tmpl.JSON)
		return // its shape was checked by parse
	}
	p := places{site: s}
	issues := a.compile(s, &p)
	for _, issue := range issues {
		a.reportIssue(s, p, issue)
	}
	if a.checkWant(s) && len(issues) == 0 {
		a.checkConstant(s)
	}
}

// compile checks a site against the names that it may read.
func (a *analysis) compile(s *site, p *places) (issues []expr.Issue) {
	scope := a.scope(s)
	switch {
	case s.exprProgram != nil:
		var x *expr.Expr
		if x, issues = s.exprProgram.Check(p.at(""), scope); x != nil {
			s.exprProgram, s.typ = x, x.Type()
		}
	case s.expr != nil:
		_, issues = expr.Compile(s.expr.Source, p.at(""), scope)
	case s.like:
		_, issues = expr.CompilePattern(s.tmpl.JSON, p.at, scope, s.unit.matched())
	case s.template != nil:
		var t *expr.Template
		if t, issues = s.template.Check(p.at, scope); t != nil {
			s.template, s.typ = t, t.Type()
		}
	default:
		_, issues = expr.CompileTemplate(s.tmpl.JSON, p.at, scope)
	}
	return issues
}

// checkWant reports whether the type of a site goes with what it has to yield.
func (a *analysis) checkWant(s *site) bool {
	w := wants[s.want]
	if s.want == wantAny || s.typ.Fits(w.types...) {
		return true
	}
	a.siteError(s, s.at(), 0, "dsl/expression-type", w.hint, "%s is not %s", s.typ, w.name)
	return false
}

// ---- places of issues ----

// places gives the parts of a site numbers that stand for places, so that a place within a part can be told from what
// package expr makes of it.
type places struct {
	site     *site
	pointers []string
}

// linesApart is more lines than any text has.
const linesApart = 1 << 24

func (p *places) at(pointer string) workflow.Position {
	p.pointers = append(p.pointers, pointer)
	return workflow.Position{Line: (len(p.pointers)-1)*linesApart + 1, Column: 1}
}

// find turns a place from package expr into the part it belongs to and the offset in it, in bytes.
func (p *places) find(at workflow.Position) (pointer string, offset int, ok bool) {
	if at.Line < 1 || (at.Line-1)/linesApart >= len(p.pointers) {
		return "", 0, false
	}
	pointer = p.pointers[(at.Line-1)/linesApart]
	text, ok := p.site.text(pointer)
	line, rest := (at.Line-1)%linesApart, text
	for ; line > 0; line-- {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	offset = len(text) - len(rest)
	column := at.Column - 1
	for i := range rest {
		if column == 0 {
			return pointer, offset + i, ok
		}
		column--
	}
	return pointer, len(text), ok
}

// text is the text of one part of a site.
func (s *site) text(pointer string) (string, bool) {
	if s.expr != nil {
		return s.expr.Source, true
	}
	if s.tree == nil { // once: a template may hold thousands of texts
		_ = json.Unmarshal(s.tmpl.JSON, &s.tree) // a template is JSON
	}
	return stringAt(s.tree, pointer)
}

// reportIssue reports a finding of package expr at its place in the document.
func (a *analysis) reportIssue(s *site, p places, x expr.Issue) {
	report, severity := a.sink.errorAt, SeverityError
	if x.Warning {
		report, severity = a.sink.warnAt, SeverityWarning
	}
	if !a.sink.room(severity) {
		return
	}
	report(a.issuePlace(s, p, x), x.Length, issueCode(x.Code), cmp.Or(x.Suggestion, fallbackHints[x.Code]), "%s", x.Message)
}

func (a *analysis) issuePlace(s *site, p places, x expr.Issue) workflow.Position {
	pointer, offset, ok := p.find(x.At)
	if !ok {
		return s.at()
	}
	if s.expr != nil {
		return a.inside(s, s.expr.At, offset)
	}
	for _, leaf := range s.tmpl.Leaves {
		if leaf.Pointer == pointer {
			return a.inside(s, leaf.At, offset)
		}
	}
	return a.source.at(s.pointer() + pointer)
}

// fallbackHints are what to do about an issue that says nothing of its own.
var fallbackHints = map[string]string{
	expr.CodeSyntax:   "check the brackets, quotes and operators around it",
	expr.CodeName:     "look the names up in the reference of the language",
	expr.CodeType:     "convert one side, as with string(x), int(x) or double(x)",
	expr.CodeRange:    "write a value that the operation takes",
	expr.CodeMissing:  "write .?name or [?i] with .orValue(…) for what may be absent",
	expr.CodeCost:     "split it over several steps, or use a script step",
	expr.CodeTooLarge: "pick the part that is needed",
}

// issueCode is the code of a diagnostic for one of package expr: "expression.type" is dsl/expression-type.
func issueCode(code string) string {
	return "dsl/" + strings.NewReplacer(".", "-", "_", "-").Replace(code)
}

// stringAt returns the string at a JSON pointer of a decoded value.
func stringAt(tree any, pointer string) (string, bool) {
	for rest := pointer; rest != ""; {
		var token string
		token, rest, _ = strings.Cut(rest[1:], "/")
		if rest != "" {
			rest = "/" + rest
		}
		switch t := tree.(type) {
		case map[string]any:
			tree = t[unescape(token)]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(t) {
				return "", false
			}
			tree = t[i]
		default:
			return "", false
		}
	}
	text, ok := tree.(string)
	return text, ok
}
