package expr

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// outcome is all that an evaluation shows.
func outcome(src string, a *Activation) string {
	e, err := Load(&workflow.Expr{Source: src, At: workflow.Position{Line: 1, Column: 1}})
	if err != nil {
		return err.Error()
	}
	p, err := e.Eval(a)
	if err != nil {
		return err.Error() + string(err.(*workflow.Error).Details)
	}
	out, err := json.Marshal(p)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// TestSameForEver evaluates literals, macros and nested maps 10,000 times: the bytes are always the same. cel-go itself
// goes through maps in another order at each run.
func TestSameForEver(t *testing.T) {
	var pairs []string
	for i := range 40 {
		pairs = append(pairs, fmt.Sprintf(`"k%d": {"z%d": %d, "a": [%d, {"y": 1, "x": 2}]}`, (i*17)%40, i, i, i))
	}
	sources := []string{
		"{" + strings.Join(pairs, ", ") + "}",
		"{" + strings.Join(pairs, ", ") + "}.map(k, k)",
		"{" + strings.Join(pairs, ", ") + "}.filter(k, k != 'k3')",
		"{" + strings.Join(pairs, ", ") + "}.transformMap(k, v, v.a)",
		"{" + strings.Join(pairs, ", ") + "}.transformList(k, v, [k, v])",
		"range(40).transformMapEntry(i, v, {string((v * 23) % 40): {'b': v, 'a': i}})",
		"merge({'b': 1, 'a': {'d': 1, 'c': 2}}, {'z': 1, 'y': {'x': 2, 'w': 1}})",
		"json.encode(json.decode('{\"b\": {\"d\": 1, \"c\": 2}, \"a\": 1}'))",
		"'%s'.format([{'b': 1, 'a': {'d': 1, 'c': 2}}])",
		"[{'b': 1, 'a': 2}, {'a': 2, 'b': 1}].distinct()",
		"entries(input.customer) + entries({'b': 1, 'a': 2})",
		"keys(without(input, ['none'])) + values({'b': 1, 'a': 2}).map(v, string(v))",
		"input.transformMap(k, v, type(v) == map ? keys(v) : v)",
	}
	for _, src := range sources {
		want := outcome(src, testActivation(t))
		require.NotContains(t, want, "expression.", src)
		act := testActivation(t)
		for range 10_000 / len(sources) {
			require.Equal(t, want, outcome(src, act))
		}
		for range 20 { // a program built anew, and other data
			programs = &cache[*program]{make: newProgram}
			require.Equal(t, want, outcome(src, testActivation(t)))
		}
	}
}

// TestOneActivationForAll: what one evaluation decoded does not change what the next one finds.
func TestOneActivationForAll(t *testing.T) {
	shared := templateActivation(t)
	for _, src := range goldenSources(t) {
		require.Equal(t, outcome(src, templateActivation(t)), outcome(src, shared), src)
	}
}

// TestConcurrent: programs, templates, zones and caches serve many goroutines.
func TestConcurrent(t *testing.T) {
	sources := append(goldenSources(t), `format_time(input.placed, "15:04 MST", "Asia/Tokyo")`)
	want := map[string]string{}
	for _, src := range sources {
		want[src] = outcome(src, testActivation(t))
	}
	programs = &cache[*program]{make: newProgram}
	tpl := &workflow.Template{JSON: workflow.Value(`{"a":"${ input.total }","b":[{"c":1},"${ input.name }"],"z":"${ secrets.pay }"}`)}
	list := &workflow.Template{JSON: workflow.Value(`[{"a":[1,2]},{"b":{"c":3}},"x"]`)}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range sources {
				src := sources[(i+g*31)%len(sources)]
				if got := outcome(src, testActivation(t)); got != want[src] {
					t.Errorf("%s: %s, want %s", src, got, want[src])
				}
			}
			for range 20 {
				loaded, err := LoadTemplate(tpl)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := loaded.Render(testActivation(t)); err != nil {
					t.Error(err)
				}
				constant, err := LoadTemplate(list)
				if err != nil {
					t.Error(err)
					return
				}
				if items, err := constant.RenderList(testActivation(t)); err != nil || len(items) != 3 {
					t.Error(items, err)
				}
			}
		}()
	}
	wg.Wait()
}

// goldenSources are the expressions of testdata/eval.
func goldenSources(t testing.TB) []string {
	files, err := filepath.Glob("testdata/eval/*.txt")
	require.NoError(t, err)
	var sources []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, block := range goldenBlocks(string(text)) {
			if block.line != "" {
				sources = append(sources, block.line)
			}
		}
	}
	return sources
}

// TestChecksDoNotChangeResults: whatever the schema says, the result is the same.
func TestChecksDoNotChangeResults(t *testing.T) {
	scopes := []*Scope{nil, NewScope().With("input", Dyn).With("execution", Dyn).With("secrets", Dyn), testScope(t)}
	for _, src := range goldenSources(t) {
		want := outcome(src, testActivation(t))
		for _, scope := range scopes {
			e, _ := Compile(src, workflow.Position{Line: 1, Column: 1}, scope)
			if e == nil {
				continue
			}
			require.Equal(t, want, outcome(e.Definition().Source, testActivation(t)), src)
		}
	}
}

// TestCompiledDefinitionLoads: what the compiler accepts and stores, the engine runs, braces or not.
func TestCompiledDefinitionLoads(t *testing.T) {
	for _, src := range []string{"input.total", "${ input.total }", "  ${input.total}\n", "\n input.total "} {
		e, issues := Compile(src, workflow.Position{Line: 5, Column: 3}, nil)
		require.Empty(t, issues)
		require.Equal(t, "input.total", e.Definition().Source)
		loaded, err := Load(e.Definition())
		require.NoError(t, err)
		n, err := loaded.EvalInt(testActivation(t))
		require.NoError(t, err)
		require.Equal(t, int64(1500), n)
	}
	e, _ := Compile("${ input.total }", workflow.Position{Line: 5, Column: 3}, nil)
	require.Equal(t, workflow.Position{Line: 5, Column: 6}, e.Definition().At)
	e, _ = Compile("\n  input.total", workflow.Position{Line: 5, Column: 3}, nil)
	require.Equal(t, workflow.Position{Line: 6, Column: 3}, e.Definition().At)
	_, err := Load(&workflow.Expr{Source: "input."})
	require.Equal(t, CodeSyntax, err.(*workflow.Error).Code)
}

// plainExpression generates expressions that mean the same in CEL as cel-go has it: without nulls, optionals, mixed
// numbers, doubles as text, and what else differs by design.
func plainExpression(kind string, depth int, names []string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string { return plain(t, kind, depth, names) })
}

func plain(t *rapid.T, kind string, depth int, names []string) string {
	sub := func(kind string) string { return plain(t, kind, depth-1, names) }
	pick := func(forms ...func() string) string {
		return forms[rapid.IntRange(0, len(forms)-1).Draw(t, "form")]()
	}
	leaf := map[string]func() string{
		"int":    func() string { return fmt.Sprint(rapid.IntRange(-3, 9).Draw(t, "int")) },
		"double": func() string { return fmt.Sprintf("%.2f", rapid.Float64Range(-5, 5).Draw(t, "double")) },
		"string": func() string {
			return fmt.Sprintf("%q", rapid.SampledFrom([]string{"", "a", "ab", "é", "xyz", "a,b"}).Draw(t, "string"))
		},
		"bool": func() string { return fmt.Sprint(rapid.Bool().Draw(t, "bool")) },
		"ints": func() string {
			return rapid.SampledFrom([]string{"[]", "[1]", "[3, 1, 2]", "[2, 2, 5]"}).Draw(t, "ints")
		},
		"texts": func() string { return rapid.SampledFrom([]string{"[]", `["b", "a"]`, `["é"]`}).Draw(t, "texts") },
	}
	if depth <= 0 {
		if kind == "int" && len(names) > 0 && rapid.Bool().Draw(t, "name") {
			return rapid.SampledFrom(names).Draw(t, "local")
		}
		return leaf[kind]()
	}
	name := fmt.Sprintf("v%d", len(names))
	inner := func(kind string) string { return plain(t, kind, depth-1, append(names[:len(names):len(names)], name)) }
	op := func(ops ...string) string { return rapid.SampledFrom(ops).Draw(t, "op") }
	binary := func(kind string, ops ...string) func() string {
		return func() string { return "(" + sub(kind) + " " + op(ops...) + " " + sub(kind) + ")" }
	}
	cond := func() string { return "(" + sub("bool") + " ? " + sub(kind) + " : " + sub(kind) + ")" }
	switch kind {
	case "int":
		return pick(leaf[kind], binary("int", "+", "-", "*", "/", "%"), cond,
			func() string { return "size(" + sub("string") + ")" },
			func() string { return sub("ints") + ".size()" },
			func() string { return sub("ints") + "[" + sub("int") + "]" },
			func() string { return sub("string") + ".indexOf(" + sub("string") + ")" },
			func() string { return sub("string") + ".lastIndexOf(" + sub("string") + ")" },
			func() string { return "int(" + sub("double") + ")" },
			func() string { return "-(" + sub("int") + ")" },
			func() string { return "math.greatest(" + sub("int") + ", " + sub("int") + ")" },
			func() string { return "cel.bind(" + name + ", " + sub("int") + ", " + inner("int") + ")" },
			func() string { return `{"a": ` + sub("int") + `, "b": ` + sub("int") + `}.` + op("a", "b", "c") })
	case "double":
		return pick(leaf[kind], binary("double", "+", "-", "*"), cond,
			func() string { return "double(" + sub("int") + ")" },
			func() string {
				return "math." + op("ceil", "floor", "round", "trunc", "abs") + "(" + sub("double") + ")"
			})
	case "string":
		return pick(leaf[kind], binary("string", "+"), cond,
			func() string { return "string(" + sub("int") + ")" },
			func() string { return sub("string") + "." + op("lowerAscii", "upperAscii", "trim", "reverse") + "()" },
			func() string { return sub("string") + ".replace(" + sub("string") + ", " + sub("string") + ")" },
			func() string { return sub("string") + ".substring(" + sub("int") + ", " + sub("int") + ")" },
			func() string { return sub("string") + ".charAt(" + sub("int") + ")" },
			func() string { return sub("texts") + ".join(" + sub("string") + ")" },
			func() string { return "'%s-%d'.format([" + sub("string") + ", " + sub("int") + "])" })
	case "bool":
		return pick(leaf[kind], binary("bool", "&&", "||", "=="), binary("int", "<", "<=", ">", ">=", "==", "!="),
			binary("string", "<", "==", "!="), binary("ints", "==", "!="), cond,
			func() string { return "!(" + sub("bool") + ")" },
			func() string {
				return sub("string") + "." + op("contains", "startsWith", "endsWith") + "(" + sub("string") + ")"
			},
			func() string { return sub("int") + " in " + sub("ints") },
			func() string {
				return sub("ints") + "." + op("all", "exists", "exists_one") + "(" + name + ", " + inner("bool") + ")"
			},
			func() string {
				return "sets." + op("contains", "equivalent", "intersects") + "(" + sub("ints") + ", " + sub("ints") + ")"
			},
			func() string { return `has({"a": ` + sub("int") + `}.` + op("a", "b") + ")" })
	case "ints":
		return pick(leaf[kind], binary("ints", "+"), cond,
			func() string { return "[" + sub("int") + ", " + sub("int") + "]" },
			func() string { return sub("ints") + ".map(" + name + ", " + inner("int") + ")" },
			func() string { return sub("ints") + ".filter(" + name + ", " + inner("bool") + ")" },
			func() string { return sub("ints") + ".map(" + name + ", " + inner("bool") + ", " + inner("int") + ")" },
			func() string { return sub("ints") + "." + op("sort", "distinct", "reverse") + "()" },
			func() string { return sub("ints") + ".slice(" + sub("int") + ", " + sub("int") + ")" },
			func() string { return sub("ints") + ".sortBy(" + name + ", " + inner("int") + ")" },
			func() string { return "[" + sub("ints") + ", " + sub("ints") + "].flatten()" },
			func() string { return sub("ints") + ".transformList(i, " + name + ", " + inner("int") + " + i)" })
	default:
		return pick(leaf[kind], binary("texts", "+"), cond,
			func() string { return sub("string") + ".split(" + sub("string") + ")" },
			func() string { return sub("ints") + ".map(" + name + ", " + inner("string") + ")" },
			func() string { return sub("texts") + ".sort()" })
	}
}

// TestOracleRandom compares random expressions with cel-go.
func TestOracleRandom(t *testing.T) {
	o := newOracle(t)
	rapid.Check(t, func(r *rapid.T) {
		kind := rapid.SampledFrom([]string{"int", "double", "string", "bool", "ints", "texts"}).Draw(r, "kind")
		src := plainExpression(kind, 4, nil).Draw(r, "source")
		theirs := o.eval(src)
		if theirs == "" {
			return
		}
		require.Equal(r, theirs, ours(t, src), src)
	})
}

func FuzzExpression(f *testing.F) {
	for _, src := range goldenSources(f) {
		f.Add(src)
	}
	scope := testScope(f)
	f.Fuzz(func(t *testing.T, src string) {
		e, issues := Compile(src, workflow.Position{Line: 1, Column: 1}, nil)
		_, typed := Compile(src, workflow.Position{Line: 1, Column: 1}, scope)
		for _, issue := range append(issues, typed...) {
			require.Contains(t, codes, issue.Code)
			require.NotEmpty(t, issue.Message)
			require.Positive(t, issue.At.Line)
		}
		require.Equal(t, e == nil, hasError(issues))
		if e == nil {
			return
		}
		first, second := outcome(src, testActivation(t)), outcome(src, testActivation(t))
		require.Equal(t, first, second)
		p, err := e.Eval(testActivation(t))
		if err != nil {
			require.Contains(t, codes, err.(*workflow.Error).Code)
			return
		}
		again, err := Canonical(p.JSON)
		require.NoError(t, err)
		require.Equal(t, string(p.JSON), string(again))
	})
}

var codes = []string{CodeSyntax, CodeName, CodeType, CodeRange, CodeMissing, CodeCost, CodeTooLarge, CodeInvalid}

func hasError(issues []Issue) bool {
	for _, issue := range issues {
		if !issue.Warning {
			return true
		}
	}
	return false
}

func FuzzTemplate(f *testing.F) {
	for _, block := range templateSources(f) {
		f.Add([]byte(block))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		src, err := Canonical(text)
		if err != nil {
			return
		}
		tpl, issues := CompileTemplate(src, nil, nil)
		require.Equal(t, tpl == nil, hasError(issues))
		pat, found := CompilePattern(src, nil, nil, nil)
		require.Equal(t, pat == nil, hasError(found))
		if pat != nil {
			_, _, err := pat.Match(Of(mixedOutput()), templateActivation(t))
			if err != nil {
				require.Contains(t, codes, err.(*workflow.Error).Code)
			}
		}
		if tpl == nil {
			return
		}
		def, err := json.Marshal(tpl.Definition())
		require.NoError(t, err)
		stored := &workflow.Template{}
		require.NoError(t, json.Unmarshal(def, stored))
		loaded, err := LoadTemplate(stored)
		require.NoError(t, err)
		want, wantErr := tpl.Render(templateActivation(t))
		got, gotErr := loaded.Render(templateActivation(t))
		require.Equal(t, wantErr, gotErr)
		require.Equal(t, want, got)
		if gotErr != nil {
			require.Contains(t, codes, gotErr.(*workflow.Error).Code)
			return
		}
		again, err := Canonical(got.JSON)
		require.NoError(t, err)
		require.Equal(t, string(got.JSON), string(again))
		root := decode(string(got.JSON), nil)
		for _, h := range got.Holes {
			v, found := follow(root, splitPointer(h.At))
			require.True(t, found, h.At)
			require.Nil(t, v, "there is null where a hole is")
			if h.Deferred != nil {
				_, _ = ResolveDeferred(*h.Deferred, workerNames)
			}
		}
	})
}

func templateSources(t testing.TB) []string {
	var sources []string
	for _, file := range []string{"testdata/template/render.txt", "testdata/pattern/match.txt"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, block := range goldenBlocks(string(text)) {
			if block.line != "" {
				sources = append(sources, block.line)
			}
		}
	}
	return sources
}
