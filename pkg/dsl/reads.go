package dsl

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// stepRead is a step whose result an expression reads.
type stepRead struct {
	unit *unit
	expr.Read
	// previous is set for previous.<id>, the result of the iteration before.
	previous bool
}

// below is the part of the step's output that is read; ok is false for its status, error and so on.
func (r stepRead) below() (path []string, ok bool) {
	switch {
	case len(r.Path) == 1:
		return nil, true // the step as a whole
	case r.Path[1] == "output":
		return r.Path[2:], true
	}
	return nil, false
}

// readSites finds out what every expression reads, without types. Names of steps are resolved on the way.
func (a *analysis) readSites() {
	for _, s := range a.sites {
		s.load()
	}
	for _, u := range a.units {
		u.bindCases()
	}
	for _, s := range a.sites {
		for _, r := range s.reads {
			a.resolve(s, r)
		}
	}
}

// load lists what a site reads. A site with a mistake in its syntax reads nothing; the check of types reports it.
func (s *site) load() {
	switch {
	case s.expr != nil:
		if x, err := expr.Load(s.expr); err == nil {
			s.exprProgram, s.reads = x, x.Reads()
		}
	case s.like:
		if p, err := expr.LoadPattern(s.tmpl); err == nil {
			s.reads, s.bound = p.Reads(), p.Names()
		}
	case len(s.tmpl.Leaves) > 0:
		if t, err := expr.LoadTemplate(s.tmpl); err == nil {
			s.template, s.reads = t, t.Reads()
		}
	}
}

// bindCases lets the conditions of the cases of a match read what their patterns bind.
func (u *unit) bindCases() {
	if u.step.Match == nil {
		return
	}
	for _, s := range u.sites {
		if s.like {
			if when := u.site(strings.TrimSuffix(s.where, "like") + "when"); when != nil {
				when.bound = s.bound
			}
		}
	}
}

func (a *analysis) resolve(s *site, r expr.Read) {
	switch r.Root {
	case "steps":
		if s.names&nameSteps != 0 {
			a.resolveStep(s, r)
		}
	case "previous":
		a.resolvePrevious(s, r)
	case "secrets":
		if len(r.Path) == 0 && s.names&nameSecrets != 0 {
			a.readErrorf(s, "secrets", "", "dsl/dynamic-secret", "write secrets.<name>",
				"which secret is read must stand in the text, so that a call gets no other ones")
		}
	}
}

func (a *analysis) resolveStep(s *site, r expr.Read) {
	if len(r.Path) == 0 {
		a.readErrorf(s, "steps", "", "dsl/dynamic-step", "write steps.<name>.output; to choose between steps, use a ? b : c",
			"which step is read must stand in the text, because what is read makes a dependency")
		return
	}
	name := r.Path[0]
	if u := s.block.find(name); u != nil {
		s.steps = append(s.steps, stepRead{unit: u, Read: r})
		return
	}
	if a.sink.room(SeverityError) {
		a.unknownRead(s, name)
	}
}

func (a *analysis) unknownRead(s *site, name string) {
	message, suggestion := a.unknownStep(s.block, name)
	if loop := s.unit; loop != nil && s.names&namePrevious != 0 && loop.inner[0].named[name] != nil {
		message = "`while` is tested before the body runs, so there is no steps." + name + " yet"
		suggestion = "read the iteration before: previous.?" + name + ".output"
	}
	a.readErrorf(s, "steps", name, "dsl/unknown-step", suggestion, "%s", message)
}

// resolvePrevious finds the step of the loop's body that previous.<id> names.
func (a *analysis) resolvePrevious(s *site, r expr.Read) {
	loop := s.loop()
	switch {
	case loop == nil:
		return // the check of names reports it
	case len(r.Path) == 0:
		a.readErrorf(s, "previous", "", "dsl/dynamic-step", "write previous.?<name>.output",
			"which step is read must stand in the text, because only what is read is kept")
	case loop.named[r.Path[0]] == nil:
		if a.sink.room(SeverityError) {
			name := r.Path[0]
			_, suggestion := a.unknownStep(&block{named: loop.named, units: loop.units}, name)
			a.readErrorf(s, "previous", name, "dsl/unknown-step", suggestion,
				"the body of the loop `%s` has no step `%s`", loop.owner.step.Name, clip(name))
		}
	default:
		s.steps = append(s.steps, stepRead{unit: loop.named[r.Path[0]], Read: r, previous: true})
	}
}

// loop is the body of the loop whose iterations a site can look back on.
func (s *site) loop() *block {
	if s.names&namePrevious != 0 {
		return s.unit.inner[0]
	}
	return s.block.loop()
}

// ---- places ----

// leaves yields the text of each part of a site that may hold expressions, with the place of its first character.
func (s *site) leaves(yield func(text string, at workflow.Position) bool) {
	if s.expr != nil {
		yield(s.expr.Source, s.expr.At)
		return
	}
	for _, leaf := range s.tmpl.Leaves {
		if text, ok := s.text(leaf.Pointer); ok && !yield(text, leaf.At) {
			return
		}
	}
}

// readPlace finds where a site reads root.name (name empty: root), for messages: the place of the last name and its length. It
// looks at the text, so what stands in a string of the expression may be taken for it; then a message points a little too far to the
// left. Where there is no such name, root alone is looked for;
// where that is not found either, the length is 0 and the place that of the site.
func (a *analysis) readPlace(s *site, root, name string) (place workflow.Position, length int) {
	place = s.at()
	s.leaves(func(text string, at workflow.Position) bool {
		offset := offsetOfRead(text, root, name)
		if offset >= 0 {
			place, length = a.inside(s, at, offset), utf8.RuneCountInString(cmp.Or(name, root))
		}
		return offset < 0
	})
	if length == 0 && name != "" {
		return a.readPlace(s, root, "")
	}
	return place, length
}

// inside is the place of a byte of a leaf. Where the document leaves the braces out, parse has put them in before the
// expression.
func (a *analysis) inside(s *site, at workflow.Position, offset int) workflow.Position {
	if s.tmpl != nil && before(at, s.tmpl.At) {
		at.Column += len("${")
		offset = max(offset-len("${"), 0)
	}
	if a.source == nil || a.source.root == nil {
		return at
	}
	return a.source.inside(at, offset)
}

// offsetOfRead returns where in a text the name of root.name stands, or root itself where name is empty; -1 for nowhere.
func offsetOfRead(text, root, name string) int {
	for from := 0; ; {
		i := strings.Index(text[from:], root)
		if i < 0 {
			return -1
		}
		start, end := from+i, from+i+len(root)
		from = end
		if start > 0 && (isWordByte(text[start-1]) || text[start-1] == '.') || end < len(text) && isWordByte(text[end]) {
			continue
		}
		if name == "" {
			return start
		}
		rest := strings.TrimLeft(text[end:], " \t\r\n.?[\"'`")
		if strings.HasPrefix(rest, name) && (len(rest) == len(name) || !isWordByte(rest[len(name)])) {
			return len(text) - len(rest)
		}
	}
}

func isWordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// siteError reports an error inside a site.
func (a *analysis) siteError(s *site, at workflow.Position, length int, code, suggestion, format string, args ...any) {
	if at.Line == 0 {
		a.sink.errorf(s.pointer(), code, suggestion, format, args...)
		return
	}
	a.sink.errorAt(at, length, code, suggestion, format, args...)
}

// readErrorf reports an error at the place where a site reads root.name.
func (a *analysis) readErrorf(s *site, root, name, code, suggestion, format string, args ...any) {
	if a.sink.room(SeverityError) {
		at, length := a.readPlace(s, root, name)
		a.siteError(s, at, length, code, suggestion, format, args...)
	}
}

// readWarnf reports a warning at the place where a site reads root.name.
func (a *analysis) readWarnf(s *site, root, name, code, suggestion, format string, args ...any) {
	if a.sink.room(SeverityWarning) {
		at, length := a.readPlace(s, root, name)
		a.sink.warnAt(at, length, code, suggestion, format, args...)
	}
}
