package dsl

import (
	"slices"
	"strings"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// holder is a value that expressions read: the output of a step, the input, an item, a variable. What is handed on into it is
// read wherever it is read itself.
type holder struct {
	asks map[string]*ask // by path
	from []inflow
}

// ask is one part of a holder with how much of it is asked for.
type ask struct {
	path []string
	how  asked
}

// asked says how much of a value is needed.
type asked uint8

const (
	askPass    asked = 1 << iota // to hand it on, for which a reference will do
	askSize                      // its size or presence
	askContent                   // all of it
)

// inflow says that the part `path` of another holder stands at `to` of this one.
type inflow struct {
	to   []string
	from *holder
	path []string
}

// Bounds that keep what flows around in loops finite: beyond them a value is asked for as a whole.
const (
	maxAskDepth = 12
	maxAsks     = 256
)

// ask notes that a part is read, here and wherever it comes from.
func (h *holder) ask(path []string, how asked) {
	if len(path) > maxAskDepth || len(h.asks) >= maxAsks && h.asks[pathKey(path)] == nil {
		path, how = nil, askContent
	}
	key := pathKey(path)
	known := h.asks[key]
	switch {
	case known == nil:
		known = &ask{path: path}
		if h.asks == nil {
			h.asks = map[string]*ask{}
		}
		h.asks[key] = known
	case known.how|how == known.how:
		return
	}
	known.how |= how
	for _, f := range h.from {
		f.ask(path, how)
	}
}

func pathKey(path []string) string { return strings.Join(path, "\x00") }

func (f inflow) ask(path []string, how asked) {
	n := min(len(path), len(f.to))
	for i := range n {
		if path[i] != f.to[i] && path[i] != expr.AnyKey && f.to[i] != expr.AnyKey {
			return
		}
	}
	if len(path) >= len(f.to) {
		f.from.ask(slices.Concat(f.path, path[len(f.to):]), how)
	} else if how &^= askSize; how != 0 { // the size of what is around it needs nothing of it
		f.from.ask(f.path, how)
	}
}

// uses lists what is asked of a holder, sorted, without parts of what is listed.
func (h *holder) uses() []workflow.Use {
	keys := make([]string, 0, len(h.asks))
	merged := map[string]*ask{}
	for key, x := range h.asks { // order-free: sorted below
		if i := slices.Index(x.path, expr.AnyKey); i >= 0 { // of items of a list: Foreach.ItemUses has which parts
			x = &ask{path: x.path[:i], how: askPass | askSize}
			key = pathKey(x.path)
		}
		if merged[key] == nil {
			merged[key] = &ask{path: x.path}
			keys = append(keys, key)
		}
		merged[key].how |= x.how
	}
	slices.SortFunc(keys, func(a, b string) int { return slices.Compare(merged[a].path, merged[b].path) })
	var uses []workflow.Use
	for _, key := range keys {
		x := merged[key]
		if !covered(merged, x) {
			uses = append(uses, x.use())
		}
	}
	return uses
}

func (x *ask) use() workflow.Use {
	use := workflow.Use{Path: append([]string{}, x.path...)}
	if x.how&askContent == 0 {
		use.Pass, use.Size = x.how&askPass != 0, x.how&askSize != 0
	}
	return use
}

// covered reports whether something around a part is asked for anyway.
func covered(asks map[string]*ask, x *ask) bool {
	for i := range x.path {
		around := asks[pathKey(x.path[:i])]
		if around != nil && (around.how&askContent != 0 || x.how == askPass && around.how&askPass != 0) {
			return true
		}
	}
	return false
}

// ledger holds the holders of a definition.
type ledger struct {
	*analysis
	input     holder
	outputs   map[*unit]*holder
	items     map[*unit]*holder // of foreach steps
	collected map[*unit]*holder // likewise
	matched   map[*unit]*holder // values of match steps
	vars      map[string]*holder
}

func newLedger(a *analysis) *ledger {
	l := &ledger{analysis: a, outputs: map[*unit]*holder{}, items: map[*unit]*holder{}, collected: map[*unit]*holder{},
		matched: map[*unit]*holder{}, vars: map[string]*holder{}}
	for _, u := range a.units {
		l.outputs[u] = &holder{}
		if u.step.Foreach != nil {
			l.items[u], l.collected[u] = &holder{}, &holder{}
		}
		if u.step.Match != nil {
			l.matched[u] = &holder{}
		}
	}
	for _, v := range a.def.Vars {
		l.vars[v.Name] = &holder{}
	}
	return l
}

// fillUses writes Step.Uses, Foreach.ItemUses and Definition.InputUses (commit protocol, point 10).
func (a *analysis) fillUses() {
	l := newLedger(a)
	for _, s := range a.sites {
		l.connect(s)
	}
	for _, u := range a.units {
		l.connectStep(u)
	}
	for _, s := range a.sites {
		l.read(s)
	}
	l.readLast()
	a.def.InputUses = l.input.uses()
	for _, u := range a.units {
		u.step.Uses = l.outputs[u].uses()
		if u.step.Foreach != nil {
			u.step.Foreach.ItemUses = l.items[u].uses()
		}
	}
}

// at finds the holder that a read of a site reads, and the part of it; nil for names that hold no such value.
func (l *ledger) at(s *site, r expr.Read) (*holder, []string) {
	switch r.Root {
	case "input":
		return &l.input, r.Path
	case "steps", "previous":
		for _, known := range s.steps {
			if known.previous == (r.Root == "previous") && len(r.Path) > 0 && known.Path[0] == r.Path[0] {
				known.Read = r
				if path, ok := known.below(); ok {
					return l.outputs[known.unit], path
				}
			}
		}
		return nil, nil
	case "vars":
		if len(r.Path) > 0 && l.vars[r.Path[0]] != nil {
			return l.vars[r.Path[0]], r.Path[1:]
		}
		return nil, nil
	case "output":
		if s.names&nameOutput != 0 {
			return l.outputs[s.unit], r.Path
		}
	case "collected":
		if s.names&nameCollected != 0 {
			return l.collected[s.unit], r.Path
		}
	case "value":
		if s.names&nameValue != 0 {
			return l.matched[s.unit], r.Path
		}
	}
	for b := s.block; b != nil && b.owner != nil; b = b.outer {
		if f := b.owner.step.Foreach; f != nil && f.As == r.Root {
			return l.items[b.owner], r.Path
		}
	}
	return nil, nil
}

// flows lists what a site hands on whole.
func (s *site) flows() []expr.Flow {
	switch {
	case !s.hands || s.template == nil:
		return nil
	}
	return s.template.Flows()
}

// connect lets what a site hands on flow into what it makes.
func (l *ledger) connect(s *site) {
	into, prefix := l.made(s)
	if into == nil {
		return
	}
	for _, f := range s.flows() {
		if from, path := l.at(s, f.Read); from != nil {
			into.flow(slices.Concat(prefix, f.To), from, path)
		}
	}
}

func (h *holder) flow(to []string, from *holder, path []string) {
	h.from = append(h.from, inflow{to: to, from: from, path: path})
}

// made is the holder whose value a site makes, and the part of it.
func (l *ledger) made(s *site) (*holder, []string) {
	u := s.unit
	if u == nil {
		if name, ok := strings.CutPrefix(s.where, "/vars/"); ok {
			return l.vars[unescape(name)], nil
		}
		return nil, nil
	}
	switch {
	case s.where == "/value", s.where == "/group/output", strings.HasPrefix(s.where, "/on_error/"):
		return l.outputs[u], nil
	case s.where == "/loop/collect":
		return l.outputs[u], []string{expr.AnyKey}
	case s.where == "/match":
		return l.matched[u], nil
	case u.step.Set != nil && strings.HasPrefix(s.where, "/set/"):
		return l.assigned(s)
	}
	return nil, nil // items and collect of a foreach: connectStep
}

func (l *ledger) assigned(s *site) (*holder, []string) {
	for i := range s.unit.step.Set.Assign {
		x := &s.unit.step.Set.Assign[i]
		if x.Value != s.tmpl {
			continue
		}
		if x.Reduce == "append" {
			return l.vars[x.Var], []string{expr.AnyKey}
		}
		return l.vars[x.Var], nil
	}
	return nil, nil
}

// connectStep lets flow what a step's output gets without an expression.
func (l *ledger) connectStep(u *unit) {
	out := l.outputs[u]
	for _, p := range u.picks {
		if p.caught {
			out.flow(standInPlace(u, p), l.outputs[p.to], nil)
		}
	}
	switch st := u.step; {
	case st.Foreach != nil:
		l.connectForeach(u)
	case st.Match != nil:
		out.flow(nil, l.matched[u], nil)
	case st.Loop != nil && st.Loop.Collect == nil, st.Group != nil && st.Group.Output == nil:
		for _, inner := range u.inner[0].units {
			out.flow([]string{inner.step.Name}, l.outputs[inner], nil)
		}
	case st.Race != nil:
		for _, b := range u.inner {
			l.flowLast(out, []string{"output"}, b)
		}
	}
}

// standInPlace is where the output of a stand-in stands: of several, by name.
func standInPlace(u *unit, p pick) []string {
	if len(u.step.OnError[p.way].Then) > 1 {
		return []string{p.to.step.Name}
	}
	return nil
}

// flowLast lets the outputs of the last steps of a body flow into a holder: by name, or of a single one as it stands.
func (l *ledger) flowLast(into *holder, prefix []string, b *block) {
	for _, name := range b.body.Last {
		to := prefix
		if len(b.body.Last) > 1 {
			to = slices.Concat(prefix, []string{name})
		}
		into.flow(to, l.outputs[b.named[name]], nil)
	}
}

func (l *ledger) connectForeach(u *unit) {
	item := []string{expr.AnyKey}
	for _, into := range []*holder{l.outputs[u], l.collected[u]} {
		collect := u.site("/foreach/collect")
		if collect == nil {
			l.flowLast(into, item, u.inner[0])
			continue
		}
		for _, f := range collect.flows() {
			if from, path := l.at(collect, f.Read); from != nil {
				into.flow(slices.Concat(item, f.To), from, path)
			}
		}
	}
	items := u.site("/foreach/items")
	if items == nil {
		return
	}
	for _, f := range items.flows() {
		from, path := l.at(items, f.Read)
		switch {
		case from == nil:
		case len(f.To) == 0: // an item of the list is an item of it there
			l.items[u].flow(nil, from, slices.Concat(path, item))
		default:
			l.items[u].flow(f.To[1:], from, path)
		}
	}
}

// read notes what a site reads.
func (l *ledger) read(s *site) {
	for _, r := range s.reads {
		from, path := l.at(s, r)
		switch {
		case from == nil:
			l.readAllVars(s, r)
		case r.Size, s.like && r.Pass && !s.bindingRead():
			from.ask(path, askSize)
		case !r.Pass || !s.hands:
			from.ask(path, askContent)
		}
	}
	for _, f := range s.flows() {
		from, path := l.at(s, f.Read)
		switch {
		case from == nil:
		case s.where == "/foreach/items" && len(f.To) == 0:
			from.ask(path, askPass|askSize)
		case s.where != "/match": // what the cases look at is asked for by them
			from.ask(path, askPass)
		}
	}
}

// bindingRead reports whether a condition may read what a pattern binds; without one, it only has to be there.
func (s *site) bindingRead() bool {
	return s.unit.site(strings.TrimSuffix(s.where, "like")+"when") != nil
}

// readAllVars: `vars` as a whole reads each of them.
func (l *ledger) readAllVars(s *site, r expr.Read) {
	if r.Root != "vars" || len(r.Path) > 0 {
		return
	}
	how := askContent
	if r.Pass && s.hands {
		how = askPass
	}
	for _, v := range l.def.Vars {
		l.vars[v.Name].ask(nil, how)
	}
}

// readLast: where nothing else is said, a body yields the outputs of its last steps; that of a loop or a group, those of all its steps.
func (l *ledger) readLast() {
	for _, b := range l.blocks {
		for _, u := range l.yielded(b) {
			l.outputs[u].ask(nil, askPass)
		}
	}
}

// yielded are the steps of a body whose outputs are its own.
func (l *ledger) yielded(b *block) []*unit {
	var last []*unit
	for _, name := range b.body.Last {
		last = append(last, b.named[name])
	}
	if b.owner == nil {
		if l.def.Output != nil {
			return nil
		}
		return last
	}
	switch st := b.owner.step; {
	case st.Foreach != nil && st.Foreach.Collect != nil, st.Loop != nil && st.Loop.Collect != nil, st.Group != nil && st.Group.Output != nil:
		return nil
	case st.Loop != nil, st.Group != nil:
		return b.units
	}
	return last
}
