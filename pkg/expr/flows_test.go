package expr_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

func TestFlows(t *testing.T) {
	tests := []struct {
		template string
		want     []string // "to ← read"
	}{
		{`"${ steps.a.output.x }"`, []string{"[] ← steps.a.output.x (pass)"}},
		{`{"k":{"v":["${ input.a }"]}}`, []string{"[k v 0] ← input.a (pass)"}},
		{`{"k":"${ {'x': [input.a, input.b], 'n': size(input.c)} }"}`, []string{"[k x 0] ← input.a (pass)", "[k x 1] ← input.b (pass)"}},
		{`"${ [?input.?a, input.b] }"`, []string{"[*] ← input.a (pass)", "[*] ← input.b (pass)"}},
		{`"${ {input.k: input.a} }"`, []string{"[*] ← input.a (pass)"}},
		{`"${ input.c ? input.a : input.b }"`, []string{"[] ← input.a (pass)", "[] ← input.b (pass)"}},
		{`"${ coalesce(input.a, input.b) }"`, []string{"[] ← input.a (pass)", "[] ← input.b (pass)"}},
		{`"${ input.?a.orValue(input.b) }"`, []string{"[] ← input.a (pass)", "[] ← input.b (pass)"}},
		{`"${ cel.bind(x, input.a, {'p': x.q}) }"`, []string{"[p] ← input.a.q (pass)"}},
		{`"${ input.?a.optMap(x, [x]) }"`, []string{"[0] ← input.a (pass)"}},
		{`"a ${ input.a }"`, nil},
		{`"${ input.a + 1 }"`, nil},
		{`"${ has(input.a) }"`, nil},
		{`{"a":"${ {'k': secrets.k, 'b': input.b} }","c":"${ input.c }"}`, []string{"[c] ← input.c (pass)"}},
		{`{"a/b":"${ input.a }"}`, []string{"[a/b] ← input.a (pass)"}},
	}
	for _, test := range tests {
		t.Run(test.template, func(t *testing.T) {
			tpl, issues := expr.CompileTemplate(workflow.Value(test.template), nil, nil)
			require.Empty(t, issues)
			var got []string
			for _, f := range tpl.Flows() {
				got = append(got, fmt.Sprintf("%v ← %s", f.To, f.Read))
			}
			require.Equal(t, test.want, got)
		})
	}
	x, issues := expr.Compile("{'k': input.a}", workflow.Position{}, nil)
	require.Empty(t, issues)
	require.Equal(t, []expr.Flow{{Read: expr.Read{Root: "input", Path: []string{"a"}, Pass: true}, To: []string{"k"}}}, x.Flows())
}

func TestCheckAgain(t *testing.T) {
	scope := expr.NewScope().With("input", expr.Record(map[string]*expr.Type{"n": expr.Int}, true))
	x, issues := expr.Compile("${ input.n + 1 }", workflow.Position{Line: 1, Column: 1}, nil)
	require.Empty(t, issues)
	typed, issues := x.Check(workflow.Position{Line: 1, Column: 4}, scope)
	require.Empty(t, issues)
	require.Equal(t, expr.Int, typed.Type())
	x, _ = expr.Compile("input.m", workflow.Position{}, nil)
	_, issues = x.Check(workflow.Position{Line: 7, Column: 3}, scope)
	require.Len(t, issues, 1)
	require.Equal(t, workflow.Position{Line: 7, Column: 9}, issues[0].At)

	tpl, issues := expr.CompileTemplate(workflow.Value(`["${ input.m }"]`), nil, nil)
	require.Empty(t, issues)
	_, issues = tpl.Check(nil, scope)
	require.Len(t, issues, 1)
}

// What stands beside a secret in one expression is captured for the worker, so its content must be there.
func TestReadsBesideSecrets(t *testing.T) {
	tpl, issues := expr.CompileTemplate(workflow.Value(`{"a":"${ {'k': secrets.k, 'b': input.b} }","c":"${ input.c }"}`), nil, nil)
	require.Empty(t, issues)
	var got []string
	for _, r := range tpl.Reads() {
		got = append(got, r.String())
	}
	require.Equal(t, []string{"input.b", "input.c (pass)", "secrets.k"}, got)
}

func TestFits(t *testing.T) {
	require.True(t, expr.Int.Fits(expr.Number))
	require.True(t, expr.Dyn.Fits(expr.Bool))
	require.True(t, expr.String.OrNull().Fits(expr.Duration, expr.String))
	require.True(t, expr.Null.Fits(expr.Bool))
	require.False(t, expr.String.Fits(expr.Bool, expr.Int))
	require.False(t, expr.MapOf(expr.Dyn).Fits(expr.ListOf(expr.Dyn)))
	require.False(t, expr.ListOf(expr.Int).Fits(expr.ListOf(expr.String)))
}
