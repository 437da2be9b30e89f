package expr

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// smallTree generates JSON with few keys, so that paths often meet something.
func smallTree(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.IntRange(0, 3), toAny[int]), rapid.SampledFrom([]any{"", "x", true, 1.5, strings.Repeat("y", 100)}),
	)
	if depth == 0 {
		return leaf
	}
	inner := smallTree(depth - 1)
	return rapid.OneOf(leaf, rapid.Map(rapid.SliceOfN(inner, 0, 3), toAny[[]any]),
		rapid.Map(rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), inner, 0, 3), toAny[map[string]any]),
		rapid.Map(rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), inner, 0, 3), toAny[map[string]any]))
}

// referenceForms are expressions over x; P and Q stand for paths.
var referenceForms = []string{
	"x", "P", "P == null", "P != null", "has(x.a)", "has(P.b)", "size(P)", "P.size() > 1", "x.?a", "P.?b", "P[?0]", "x[?'a'].b",
	"coalesce(P, Q, 1)", "P.orValue(Q)", "P.?a.orValue('none')", "P.?a.hasValue()", "P.?a.optMap(v, [v])", "P.?a.or(optional.of(Q))",
	"{'k': P, 'l': [Q, x.?a]}", "{'k': P.?a, ?'l': Q.?b}", "[P, ?Q.?a]", "P == null ? Q : P", "cel.bind(v, P, [v, v])", "cel.bind(v, P, v.a)",
	"P == Q", "json.encode(P)", "P.map(v, v)", "P.all(v, v == 1)", "P.filter(v, true)", "keys(P)", "P + Q", "type(P) == map", "dyn(P)",
	"[1, 2].map(i, P)", "[0, 1].map(i, x.a[i])", "P in [1, 2]", "'%s'.format([P])", "P.take(1)", "merge(P, {'z': Q})", "P ? 1 : 2", "P && Q == 1",
	"optional.of(P).value()", "P[0].a", "find(P, v, v == Q)", "P.a.b.c", "x.a.b == null && x.b.c != null", "size(x.a) > 0 ? x.a[0] : null",
}

// TestReferencesReadLikeValues: an expression over a value kept by reference, with what its reads keep beside it, has the
// result that it has over the value itself, once the holes are filled.
func TestReferencesReadLikeValues(t *testing.T) {
	paths := rapid.SampledFrom([]string{"x", "x.a", "x.b", "x.a.b", "x.b.c", "x.a[0]", "x.a[1].b", "x['c']", "x.c.?a.b"})
	rapid.Check(t, func(r *rapid.T) {
		v, err := Marshal(map[string]any{"a": smallTree(3).Draw(r, "a"), "b": smallTree(2).Draw(r, "b"), "long": strings.Repeat("z", 100)})
		require.NoError(r, err)
		src := rapid.SampledFrom(referenceForms).Draw(r, "form")
		src = strings.ReplaceAll(src, "P", paths.Draw(r, "P"))
		src = strings.ReplaceAll(src, "Q", paths.Draw(r, "Q"))
		e, err := Load(&workflow.Expr{Source: src})
		require.NoError(r, err)
		var uses []workflow.Use
		for _, read := range e.Reads() {
			uses = append(uses, workflow.Use{Path: read.Path, Pass: read.Pass, Size: read.Size})
		}
		known, err := KnownParts(v, uses, 1<<20)
		require.NoError(r, err)
		require.Equal(r, evalOver(e, workflow.Inline(v), v), evalOver(e, workflow.Payload{
			JSON: workflow.Null, Holes: []workflow.Hole{{Ref: &workflow.Ref{Hash: "h", Size: int64(len(v)), Known: known}}},
		}, v), "%s with %s", src, known)
	})
}

// evalOver evaluates with x bound to p, and fills the holes of the result from v.
func evalOver(e *Expr, p workflow.Payload, v workflow.Value) string {
	got, err := e.Eval(NewActivation(func(string) (Binding, bool) { return Of(p), true }))
	if err != nil {
		return err.(*workflow.Error).Code // the messages may differ
	}
	return string(filled(got, v))
}

// filled puts the parts of v into the holes of p.
func filled(p workflow.Payload, v workflow.Value) workflow.Value {
	root := rebuilt(decode(p.JSON.String(), nil))
	source := decode(string(v), nil)
	for _, h := range p.Holes {
		part, _ := follow(source, h.Ref.Path)
		keys := splitPointer(h.At)
		if len(keys) == 0 {
			root = part
			continue
		}
		at, _ := follow(root, keys[:len(keys)-1])
		switch c := at.(type) {
		case *list:
			i := 0
			for _, d := range keys[len(keys)-1] {
				i = i*10 + int(d-'0')
			}
			c.vals[i] = part
		case *object:
			c.vals[c.find(keys[len(keys)-1])] = part
		}
	}
	out, bad := encode(root)
	if bad != nil {
		return workflow.Value(bad.Error())
	}
	return out.JSON
}

func TestKnownPartsLimit(t *testing.T) {
	v := mustCanonical(t, `{"a":"`+strings.Repeat("x", 1000)+`","b":{"c":1},"d":[1,2]}`)
	_, err := KnownParts(v, []workflow.Use{{Path: []string{"a"}}}, 500)
	require.Equal(t, CodeTooLarge, err.(*workflow.Error).Code)
	require.ErrorContains(t, err, `"/a" exceeds`)
	known, err := KnownParts(v, []workflow.Use{{Path: []string{"a"}, Pass: true}, {Path: []string{"b"}}, {Path: []string{"b", "c"}, Size: true}, {Path: []string{"d", "7"}}}, 500)
	require.NoError(t, err)
	require.Equal(t, `{"/b":{"c":1},"/b/c":1,"/d":[1,2],"size":{"/a":["string",1000]}}`, known.String())
	known, err = KnownParts(v, nil, 0)
	require.NoError(t, err)
	require.Nil(t, known)
	_, err = KnownParts(workflow.Value(`{"a":`), []workflow.Use{{Path: []string{"a"}}}, 500)
	require.Equal(t, CodeInvalid, err.(*workflow.Error).Code)
}

// samples has a value of every kind.
func samples() []any {
	return []any{
		nil, true, int64(-1), int64(2), uint64(3), uint64(1 << 63), 1.5, math.Copysign(0, -1), 1e300, "", "é text", octets("\xff\x00"),
		time.Unix(0, 0).UTC(), 90 * time.Second, newList(nil), newList([]any{int64(1), "a", nil}), newList([]any{int64(2), int64(1)}),
		&object{}, &object{keys: []string{"a"}, vals: []any{int64(1)}}, none, some(int64(1)), typeName("int"),
		newHole(&workflow.Hole{Ref: &workflow.Ref{Hash: "h", Size: 9}}), newHole(&workflow.Hole{Deferred: &workflow.Deferred{Expr: "${ secrets.x }"}}),
		&lazy{get: func(string) (Binding, bool) { return OfInt(1), true }}, newList([]any{some(int64(1)), none}),
	}
}

// TestEveryFunctionTakesAnything calls every function and operator with every kind of value in every place: each answers with
// a value or with a failure of a known code.
func TestEveryFunctionTakesAnything(t *testing.T) {
	act := testActivation(t)
	try := func(what string, args []any, call func(f *frame) (any, *failure)) {
		v, bad := call(newFrame(act, 0))
		if bad != nil {
			require.Contains(t, codes, bad.code, what)
			require.NotEmpty(t, bad.msg, what)
			return
		}
		require.NotPanics(t, func() { kindName(v); _, _ = encode(v) }, "%s(%s)", what, kindNames(args))
	}
	for _, name := range functionNames {
		fn := functions[name]
		if fn == nil {
			continue // a macro
		}
		most := fn.max
		if most < 0 {
			most = fn.min + 1
		}
		for n := fn.min; n <= most; n++ {
			combinations(n, func(args []any) {
				nodes := make([]node, n)
				for i, arg := range args {
					nodes[i] = &literal{val: arg}
				}
				try(name, args, (&call{fn: fn, args: nodes}).eval)
			})
		}
	}
	combinations(2, func(args []any) {
		l, r := &literal{val: args[0]}, &literal{val: args[1]}
		for _, n := range []node{
			&operation{op: '+', l: l, r: r}, &operation{op: '-', l: l, r: r}, &operation{op: '*', l: l, r: r}, &operation{op: '/', l: l, r: r},
			&operation{op: '%', l: l, r: r}, &comparison{op: less, l: l, r: r}, &comparison{op: same, l: l, r: r}, &membership{l: l, r: r},
			&indexing{of: l, index: r}, &indexing{of: l, index: r, opt: true}, &logic{and: true, l: l, r: r}, &negation{of: l}, &not{of: l},
			&access{of: l, key: "a"}, &access{of: l, key: "a", test: true}, &mapLiteral{entries: []entry{{key: l, val: r, optional: true}}},
			&mapping{loop: loop{over: l, second: -1, body: 1}, make: r}, &sorting{loop: loop{over: l, second: -1}, key: r},
		} {
			try("operator", args, func(f *frame) (any, *failure) {
				f.slots = f.space[:2]
				return n.eval(f)
			})
		}
	})
}

// combinations calls fn with all tuples of n samples (of 3 and more, with those that differ in two places from a base).
func combinations(n int, fn func(args []any)) {
	all := samples()
	base := make([]any, n)
	for i := range base {
		base[i] = "é text"
	}
	fn(base)
	for i := range n {
		for j := range n {
			for _, a := range all {
				for _, b := range all {
					args := append([]any(nil), base...)
					args[i], args[j] = a, b
					fn(args)
				}
			}
		}
	}
}

func TestTypedResults(t *testing.T) {
	act := func() *Activation { return testActivation(t) }
	load := func(src string) *Expr {
		e, err := Load(&workflow.Expr{Source: src})
		require.NoError(t, err)
		return e
	}
	b, err := load("input.vip").EvalBool(act())
	require.NoError(t, err)
	require.True(t, b)
	n, err := load("3.0").EvalInt(act())
	require.NoError(t, err)
	require.Equal(t, int64(3), n)
	d, err := load(`"1d12h"`).EvalDuration(act())
	require.NoError(t, err)
	require.Equal(t, 36*time.Hour, d)
	d, err = load(`duration("90s")`).EvalDuration(act())
	require.NoError(t, err)
	require.Equal(t, 90*time.Second, d)
	at, err := load("input.placed").EvalTime(act())
	require.NoError(t, err)
	require.Equal(t, "2026-01-31T09:00:00Z", at.Format(time.RFC3339))
	at, err = load("execution.started_at").EvalTime(act())
	require.NoError(t, err)
	require.Equal(t, time.UTC, at.Location())
	s, err := load("input.?total").EvalString(act())
	require.NoError(t, err)
	require.Equal(t, "1500", s)
	items, err := load("input.items").EvalList(act())
	require.NoError(t, err)
	require.Equal(t, `{"price":99.5,"qty":1,"sku":"A-1"}`, items[0].JSON.String())

	refuse := func(err error, code, message string) {
		t.Helper()
		require.ErrorContains(t, err, message)
		require.Equal(t, code, err.(*workflow.Error).Code)
	}
	_, err = load("input.total").EvalBool(act())
	refuse(err, CodeType, "true or false, not int")
	_, err = load("input.?nothing").EvalBool(act())
	refuse(err, CodeType, "not null")
	_, err = load("1.5").EvalInt(act())
	refuse(err, CodeRange, "whole number")
	_, err = load(`"1"`).EvalInt(act())
	refuse(err, CodeType, "whole number, not string")
	_, err = load("30").EvalDuration(act())
	refuse(err, CodeType, "say the unit")
	_, err = load(`"30"`).EvalDuration(act())
	refuse(err, CodeRange, "is no duration")
	_, err = load("null").EvalDuration(act())
	refuse(err, CodeType, "not null")
	_, err = load("1").EvalTime(act())
	refuse(err, CodeType, "expected a time")
	_, err = load(`"tomorrow"`).EvalTime(act())
	refuse(err, CodeRange, "is no time")
	_, err = load("[1]").EvalString(act())
	refuse(err, CodeType, "expected a text, not list")
	_, err = load("input.none").EvalList(act())
	refuse(err, CodeType, "coalesce(x, [])")
	_, err = load("input.customer").EvalList(act())
	refuse(err, CodeType, "not map")
	held := NewActivation(func(string) (Binding, bool) { return Of(bigOutput(t)), true })
	_, err = load("x").EvalList(held)
	refuse(err, CodeTooLarge, "kept by reference")
	_, err = load("x.body").EvalInt(held)
	refuse(err, CodeTooLarge, "kept by reference")
	_, err = load("x.body").EvalString(held)
	refuse(err, CodeTooLarge, "kept by reference")
}

func TestBindings(t *testing.T) {
	values := map[string]Binding{
		"s": OfString("x"), "i": OfInt(7), "b": OfBool(true), "t": OfTime(time.Unix(0, 0)), "d": OfDuration(time.Minute), "z": {},
		"v": OfValue(nil), "p": Of(workflow.Payload{}),
		"o": OfStruct(func(field string) (Binding, bool) { return OfString(field), field == "a" || field == "b" }, func() []string { return []string{"b", "c", "a"} }),
		"q": OfStruct(func(field string) (Binding, bool) { return OfInt(1), field == "a" }, nil),
	}
	asked := map[string]int{}
	act := NewActivation(func(name string) (Binding, bool) {
		asked[name]++
		v, ok := values[name]
		return v, ok
	})
	for src, want := range map[string]string{
		"[s, i, b, t, d, z, v, p]": `["x",7,true,"1970-01-01T00:00:00Z","1m",null,null,null]`,
		"o":                        `{"a":"a","b":"b"}`, "o.a": `"a"`, "o.?c": `null`, "keys(o)": `["a","b"]`, "o == {'a': 'a', 'b': 'b'}": `true`, "has(o.c)": `false`,
		"q.a": `1`, "q.?b": `null`, "t.getFullYear() + d.getSeconds()": `2030`,
	} {
		require.Equal(t, want, decodeOutcome(t, src, act), src)
	}
	require.Equal(t, map[string]int{"s": 1, "i": 1, "b": 1, "t": 1, "d": 1, "z": 1, "v": 1, "p": 1, "o": 1, "q": 1}, asked)
	for _, src := range []string{"q", "[q]", "q.map(k, k)", "keys(q)", "json.encode(q)"} {
		e, err := Load(&workflow.Expr{Source: src})
		require.NoError(t, err)
		_, err = e.Eval(act)
		require.Equal(t, CodeType, err.(*workflow.Error).Code, src)
	}
}

func decodeOutcome(t *testing.T, src string, act *Activation) string {
	e, err := Load(&workflow.Expr{Source: src})
	require.NoError(t, err)
	p, err := e.Eval(act)
	require.NoError(t, err, src)
	return p.JSON.String()
}
