package expr

import (
	"sort"
	"strconv"
	"time"

	"github.com/wovyr/wovyr/pkg/workflow"
)

func itoa(i int) string { return strconv.Itoa(i) }

// envTypes is the key of workflow.Deferred.Env that says which of its texts are times and durations: it is no
// name, so it hides none.
const envTypes = "@types"

// deferred captures what a string reads beside the names that only an activity's worker knows.
func (r *rendering) deferred(l *leaf) (any, *failure) {
	env := envBuilder{f: r.f}
	tree := &readTree{}
	for _, p := range l.progs {
		for _, read := range p.reads {
			if !deferredNames[read.Root] {
				tree.add(append([]string{read.Root}, read.Path...))
			}
		}
	}
	v, bad := env.capture(tree)
	if bad != nil {
		return nil, bad
	}
	return &hole{deferred: &workflow.Deferred{Expr: l.src, Env: v}}, nil
}

// readTree is a set of paths.
type readTree struct {
	whole bool
	keys  []string // sorted
	sub   []*readTree
}

func (t *readTree) add(path []string) {
	for _, key := range path {
		i := sort.SearchStrings(t.keys, key)
		if i == len(t.keys) || t.keys[i] != key {
			t.keys = append(t.keys[:i:i], append([]string{key}, t.keys[i:]...)...)
			t.sub = append(t.sub[:i:i], append([]*readTree{{}}, t.sub[i:]...)...)
		}
		t = t.sub[i]
	}
	t.whole = true
}

// envBuilder makes workflow.Deferred.Env.
type envBuilder struct {
	f         *frame
	times     []any // pointers of timestamps
	durations []any // pointers of durations
}

func (b *envBuilder) capture(t *readTree) (workflow.Value, *failure) {
	if len(t.keys) == 0 {
		return nil, nil
	}
	env := &object{}
	for i, name := range t.keys {
		v, found := b.f.act.resolve(name)
		if !found {
			return nil, noName(name)
		}
		env.keys, env.vals = append(env.keys, name), append(env.vals, b.project(v, t.sub[i], "/"+name))
	}
	if types := b.types(); types != nil {
		env = mergeTwo(env, &object{keys: []string{envTypes}, vals: []any{types}})
	}
	e := encoder{limit: MaxResult}
	if bad := e.value(env, 0); bad != nil {
		return nil, bad
	}
	if len(e.holes) > 0 {
		return nil, holeFailure(e.holes[0])
	}
	return e.buf, nil
}

func (b *envBuilder) types() any {
	o := &object{}
	if len(b.durations) > 0 {
		o.keys, o.vals = append(o.keys, "duration"), append(o.vals, newList(b.durations))
	}
	if len(b.times) > 0 {
		o.keys, o.vals = append(o.keys, "timestamp"), append(o.vals, newList(b.times))
	}
	if len(o.keys) == 0 {
		return nil
	}
	return o
}

// project keeps of a value what a set of paths reads.
func (b *envBuilder) project(v any, t *readTree, pointer string) any {
	switch c := v.(type) {
	case time.Time:
		b.times = append(b.times, pointer)
		return c
	case time.Duration:
		b.durations = append(b.durations, pointer)
		return c
	case *lazy:
		if o, ok := c.object(); ok && t.whole {
			return b.all(o, pointer)
		}
	}
	if t.whole {
		return v
	}
	switch v.(type) {
	case *object, *lazy, *hole:
		o := &object{}
		for i, key := range t.keys {
			if part, found, bad := memberOf(v, key); bad == nil && found {
				o.keys = append(o.keys, key)
				o.vals = append(o.vals, b.project(part, t.sub[i], pointer+pointerOf([]string{key})))
			}
		}
		return o
	}
	return v
}

// all keeps an object that was made field by field, and so may hold times.
func (b *envBuilder) all(o *object, pointer string) any {
	out := &object{keys: o.keys, vals: make([]any, o.size())}
	for i, key := range o.keys {
		out.vals[i] = b.project(o.at(i), &readTree{whole: true}, pointer+pointerOf([]string{key}))
	}
	return out
}

// ResolveDeferred evaluates a deferred string in the worker that runs the activity. names binds secrets, callback and task;
// it is asked only for those. Error messages tell nothing of values, which may be secret.
func ResolveDeferred(d workflow.Deferred, names func(root string) (Binding, bool)) (v workflow.Value, err error) {
	defer recoverInvalid(&err)
	env, bad := newEnv(d.Env)
	if bad != nil {
		return nil, bad.in(d.Expr, workflow.Position{})
	}
	act := NewActivation(func(name string) (Binding, bool) {
		if deferredNames[name] {
			return names(name)
		}
		part, ok := env.get(name)
		return Binding{ready: part}, ok
	})
	p := &templateProgram{}
	root := p.string(d.Expr, "")
	if len(p.flaws) > 0 {
		return nil, p.flaws[0].bad.in(d.Expr, workflow.Position{})
	}
	if root.leaf == nil {
		return Marshal(root.fixed)
	}
	val, bad := root.leaf.eval(newFrame(act, 0))
	if bad == nil {
		var out workflow.Payload
		if out, bad = encode(val); bad == nil && len(out.Holes) > 0 {
			bad = holeFailure(out.Holes[0])
		}
		v = out.JSON
	}
	if bad != nil {
		return nil, bad.secret().in(d.Expr, workflow.Position{})
	}
	return v, nil
}

// secret keeps what a failure says but for values.
func (x *failure) secret() *failure {
	what := map[string]string{
		CodeName:     "a name does not exist",
		CodeType:     "an operator or function got a value of the wrong type",
		CodeRange:    "a value is out of range or not well formed",
		CodeMissing:  "a key, index or secret does not exist",
		CodeCost:     "the expression does too much work",
		CodeTooLarge: "a value is too large",
	}[x.code]
	return failf(x.code, "an expression over secrets or links failed: %s", what).or("test it with plain values first").placed(x.at)
}

// newEnv decodes workflow.Deferred.Env, with its times.
func newEnv(src workflow.Value) (*object, *failure) {
	if len(src) == 0 {
		return &object{}, nil
	}
	env := mustBe[*object](decode(string(src), nil))
	v, ok := env.get(envTypes)
	if !ok {
		return env, nil
	}
	types := mustBe[*object](v)
	for i, kind := range types.keys {
		for _, pointer := range mustBe[*list](types.at(i)).all() {
			if bad := retype(env, splitPointer(mustBe[string](pointer)), kind); bad != nil {
				return nil, bad
			}
		}
	}
	return env, nil
}

// retype makes the text at a path a timestamp or duration again.
func retype(o *object, path []string, kind string) *failure {
	for ; len(path) > 1; path = path[1:] {
		part, _ := o.get(path[0])
		o.raw = ""
		o = mustBe[*object](part)
	}
	o.raw = ""
	i := o.find(path[0])
	if i < 0 {
		panic(invalid{})
	}
	text := mustBe[string](o.at(i))
	if kind == "duration" {
		d, bad := parseDuration(text)
		o.vals[i] = d
		return bad
	}
	t, bad := parseTime(text)
	o.vals[i] = t
	return bad
}
