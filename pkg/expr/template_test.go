package expr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// bigOutput is an output kept by reference, of which some parts are known.
func bigOutput(t testing.TB) workflow.Payload {
	value := mustCanonical(t, `{"body":{"id":"ch_1","text":"`+strings.Repeat("x", 100)+`"},"items":[{"n":1}],"list":[1,2,3]}`)
	known, err := KnownParts(value, []workflow.Use{
		{Path: []string{"body", "id"}}, {Path: []string{"list"}, Size: true}, {Path: []string{"absent"}},
		{Path: []string{"body", "text"}, Pass: true}, {Path: []string{"items", "0"}},
	}, 1000)
	require.NoError(t, err)
	return workflow.Payload{JSON: workflow.Null, Holes: []workflow.Hole{{Ref: &workflow.Ref{Hash: "abc", Size: int64(len(value)), Known: known}}}}
}

// mixedOutput has holes inside: a reference, a secret, and a list with a reference.
func mixedOutput() workflow.Payload {
	return workflow.Payload{
		JSON: workflow.Value(`{"inner":{"big":null,"n":1,"secret":null},"list":[1,null,3]}`),
		Holes: []workflow.Hole{
			{At: "/inner/big", Ref: &workflow.Ref{Hash: "def", Size: 1 << 20, Path: []string{"a"}}},
			{At: "/inner/secret", Deferred: &workflow.Deferred{Expr: "${ secrets.x }"}},
			{At: "/list/1", Ref: &workflow.Ref{Hash: "fed", Size: 1 << 20}},
		},
	}
}

// templateActivation binds what the golden files of templates and patterns read.
func templateActivation(t testing.TB) *Activation {
	inner := testActivation(t)
	input := Of(workflow.Payload{
		JSON: mustCanonical(t, strings.Replace(testInput, `"vip"`, `"holed": {"deep": {"list": [1, null], "n": 1}}, "vip"`, 1)),
		Holes: []workflow.Hole{
			{At: "/holed/deep/list/1", Ref: &workflow.Ref{Hash: "0a1b", Size: 5000}},
		},
	})
	return NewActivation(func(name string) (Binding, bool) {
		switch name {
		case "input":
			return input, true
		case "steps":
			return OfStruct(func(step string) (Binding, bool) {
				return OfStruct(func(field string) (Binding, bool) {
					if step == "mixed" {
						return Of(mixedOutput()), field == "output"
					}
					return Of(bigOutput(t)), field == "output"
				}, nil), step == "big" || step == "mixed"
			}, nil), true
		case "vars":
			return OfValue(workflow.Value(`{"limit":1000}`)), true
		}
		v, ok := inner.resolve(name)
		return Binding{ready: v}, ok
	})
}

// workerNames binds what only a worker knows.
func workerNames(root string) (Binding, bool) {
	switch root {
	case "secrets":
		return OfValue(workflow.Value(`{"pay":"s3cr3t"}`)), true
	case "callback":
		return OfValue(workflow.Value(`{"token":"t","url":"https://cb.example/1"}`)), true
	case "task":
		return OfValue(workflow.Value(`{"url":"https://task.example/1"}`)), true
	}
	return Binding{}, false
}

func payloadLines(p workflow.Payload) []string {
	lines := []string{p.JSON.String()}
	for _, h := range p.Holes {
		if h.Ref != nil {
			lines = append(lines, fmt.Sprintf("hole %q ref %s%v known %s", h.At, h.Ref.Hash, h.Ref.Path, h.Ref.Known))
			continue
		}
		lines = append(lines, fmt.Sprintf("hole %q deferred %s env %s", h.At, h.Deferred.Expr, h.Deferred.Env))
		v, err := ResolveDeferred(*h.Deferred, workerNames)
		if err != nil {
			lines = append(lines, "  worker ! "+errorText(err))
		} else {
			lines = append(lines, "  worker "+v.String())
		}
	}
	return lines
}

// TestTemplates holds every template of testdata/template/render.txt against its rendered form, the holes left in it, and
// what a worker makes of those.
func TestTemplates(t *testing.T) {
	golden(t, "testdata/template/render.txt", func(src string) string {
		value := mustCanonical(t, src)
		tpl, issues := CompileTemplate(value, func(pointer string) workflow.Position {
			return workflow.Position{Line: 1 + len(splitPointer(pointer)), Column: 10}
		}, nil)
		var lines []string
		for _, issue := range issues {
			lines = append(lines, "? "+issueText(issue))
		}
		if tpl == nil {
			return strings.Join(lines, "\n")
		}
		again, err := LoadTemplate(tpl.Definition())
		require.NoError(t, err)
		require.Equal(t, tpl.Reads(), again.Reads())
		p, err := again.Render(templateActivation(t))
		if err != nil {
			return "! " + errorText(err)
		}
		return strings.Join(append(lines, payloadLines(p)...), "\n")
	})
}

// TestPatterns matches `input` and an output kept by reference with every pattern of testdata/pattern/match.txt.
func TestPatterns(t *testing.T) {
	value := workflow.Payload{
		JSON:  mustCanonical(t, strings.Replace(testInput, `"vip"`, `"big": null, "vip"`, 1)),
		Holes: []workflow.Hole{{At: "/big", Ref: bigRef(t)}},
	}
	scope := NewScope().With("vars", Dyn).With("secrets", Dyn)
	golden(t, "testdata/pattern/match.txt", func(src string) string {
		p, issues := CompilePattern(mustCanonical(t, src), func(pointer string) workflow.Position {
			return workflow.Position{Line: 1 + len(splitPointer(pointer)), Column: 10}
		}, scope, Dyn)
		var lines []string
		for _, issue := range issues {
			lines = append(lines, "? "+issueText(issue))
		}
		if p == nil {
			return strings.Join(lines, "\n")
		}
		again, err := LoadPattern(p.Definition())
		require.NoError(t, err)
		binds, ok, err := again.Match(Of(value), templateActivation(t))
		if err != nil {
			return "! " + errorText(err)
		}
		lines = append(lines, fmt.Sprint(ok))
		for _, name := range again.Names() {
			if ok {
				lines = append(lines, "$"+name+" = "+strings.Join(payloadLines(binds[name]), " "))
			}
		}
		var reads []string
		for _, r := range again.Reads() {
			reads = append(reads, r.String())
		}
		return strings.Join(append(lines, "reads "+strings.Join(reads, ", ")), "\n")
	})
}

func bigRef(t testing.TB) *workflow.Ref {
	value := mustCanonical(t, `{"id":5,"list":[1,2,3],"text":"xyz"}`)
	known, err := KnownParts(value, []workflow.Use{{Size: true}, {Path: []string{"id"}}, {Path: []string{"list"}, Size: true}}, 1000)
	require.NoError(t, err)
	return &workflow.Ref{Hash: "b19", Size: int64(len(value)), Known: known}
}
