package expr

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/ext"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// oracle evaluates expressions with the interpreter of cel-go, which this package does not use.
type oracle struct {
	env   *cel.Env
	input map[string]any
}

func newOracle(t testing.TB) *oracle {
	env, err := cel.NewEnv(
		cel.StdLib(), cel.OptionalTypes(), ext.Strings(), ext.Lists(), ext.Math(), ext.Sets(), ext.Bindings(),
		ext.TwoVarComprehensions(), ext.Encoders(), cel.EnableMacroCallTracking(),
	)
	require.NoError(t, err)
	native := toNative(decode(string(mustCanonical(t, testInput)), nil))
	return &oracle{env: env, input: map[string]any{"input": native}}
}

// toNative gives values to cel-go in the form it takes them.
func toNative(v any) any {
	switch v := v.(type) {
	case *list:
		out := make([]any, v.size())
		for i := range out {
			out[i] = toNative(v.at(i))
		}
		return out
	case *object:
		out := map[string]any{}
		for i, key := range v.keys {
			out[key] = toNative(v.at(i))
		}
		return out
	}
	return v
}

// eval returns the JSON of the result, "error", or "" where cel-go does not have the function or syntax.
func (o *oracle) eval(src string) string {
	tree, issues := o.env.Parse(src)
	if issues.Err() != nil {
		return "error"
	}
	prog, err := o.env.Program(tree)
	if err != nil {
		return "error"
	}
	v, _, err := prog.Eval(o.input)
	switch {
	case err != nil && strings.Contains(err.Error(), "no such overload"), err != nil && strings.Contains(err.Error(), "unbound"), err == nil:
	default:
		return "error"
	}
	if err != nil {
		if o.unknownFunction(src) {
			return ""
		}
		return "error"
	}
	internal, err := fromCEL(v)
	if err != nil {
		return "error"
	}
	p, bad := encode(internal)
	if bad != nil {
		return "error"
	}
	return p.JSON.String()
}

// unknownFunction: the expression calls what only this package has.
func (o *oracle) unknownFunction(src string) bool {
	for _, name := range functionNames {
		if strings.Contains(src, name+"(") && !o.env.HasFunction(name) && macros[name] == nil {
			return true
		}
	}
	return strings.Contains(src, "coalesce(") || strings.Contains(src, "find(") || strings.Contains(src, "execution")
}

// fromCEL makes a value of this package from one of cel-go.
func fromCEL(v ref.Val) (any, error) {
	switch v := v.(type) {
	case types.Null:
		return nil, nil
	case types.Bool:
		return bool(v), nil
	case types.Int:
		return int64(v), nil
	case types.Uint:
		return uint64(v), nil
	case types.Double:
		return float64(v), nil
	case types.String:
		return string(v), nil
	case types.Bytes:
		return octets(v), nil
	case types.Timestamp:
		return v.Time, nil
	case types.Duration:
		return v.Duration, nil
	case *types.Optional:
		if !v.HasValue() {
			return none, nil
		}
		inner, err := fromCEL(v.GetValue())
		return some(inner), err
	case traits.Mapper:
		o := &object{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			k := it.Next()
			key, err := fromCEL(k)
			if err != nil {
				return nil, err
			}
			val, err := fromCEL(v.Get(k))
			if err != nil {
				return nil, err
			}
			if opt, ok := val.(*optional); ok && !opt.has {
				continue
			}
			text, ok := keyOf(key)
			if !ok {
				return nil, fmt.Errorf("key %v", key)
			}
			o.keys, o.vals = append(o.keys, text), append(o.vals, val)
		}
		sort.Sort(&byKey{o.keys, o.vals})
		return o, nil
	case traits.Lister:
		l := newList(nil)
		for it := v.Iterator(); it.HasNext() == types.True; {
			item, err := fromCEL(it.Next())
			if err != nil {
				return nil, err
			}
			l.vals = append(l.vals, item)
		}
		return l, nil
	}
	return nil, fmt.Errorf("no value: %v", v)
}

// unordered sorts every list of a JSON value.
func unordered(t testing.TB, text string) string {
	v, err := Canonical([]byte(text))
	if err != nil {
		return text
	}
	var sorted func(v any) any
	sorted = func(v any) any {
		switch v := v.(type) {
		case *list:
			var items []string
			for _, item := range v.all() {
				p, bad := encode(sorted(item))
				require.Nil(t, bad)
				items = append(items, string(p.JSON))
			}
			sort.Strings(items)
			return strings.Join(items, "\x00")
		case *object:
			out := &object{keys: v.keys}
			for i := range v.keys {
				out.vals = append(out.vals, sorted(v.at(i)))
			}
			return out
		}
		return v
	}
	p, bad := encode(sorted(decode(string(v), nil)))
	require.Nil(t, bad)
	return string(p.JSON)
}

// ours is the outcome of an expression without the check, as cel-go evaluates it too.
func ours(t testing.TB, src string) string {
	e, err := Load(&workflow.Expr{Source: src})
	if err != nil {
		return "error"
	}
	p, err := e.Eval(testActivation(t))
	if err != nil {
		return "error"
	}
	return p.JSON.String()
}

// TestOracle holds this package's results against those of cel-go, for every expression of testdata/eval that cel-go
// knows. testdata/differences.txt lists all that differ; docs/expressions.md gives the reasons.
func TestOracle(t *testing.T) {
	o := newOracle(t)
	files, err := filepath.Glob("testdata/eval/*.txt")
	require.NoError(t, err)
	var out strings.Builder
	compared := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, block := range goldenBlocks(string(text)) {
			if block.line == "" {
				continue
			}
			theirs := o.eval(block.line)
			if theirs == "" {
				continue
			}
			compared++
			mine := ours(t, block.line)
			if strings.Contains(block.line, "{") && unordered(t, mine) == unordered(t, theirs) {
				continue // cel-go goes through a map in another order at each run
			}
			if mine != theirs {
				fmt.Fprintf(&out, "%s\n    here    %s\n    cel-go  %s\n", block.line, mine, theirs)
			}
		}
	}
	t.Logf("%d expressions compared", compared)
	require.Greater(t, compared, 400)
	const file = "testdata/differences.txt"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(out.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), out.String())
}
