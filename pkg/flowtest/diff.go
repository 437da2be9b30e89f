package flowtest

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// matches reports whether a value fits a pattern of `like`.
func matches(pattern *workflow.Template, v workflow.Value) (bool, error) {
	p, err := expr.LoadPattern(pattern)
	if err != nil {
		return false, err
	}
	_, ok, err := p.Match(expr.OfValue(v), expr.NewActivation(func(string) (expr.Binding, bool) { return expr.Binding{}, false }))
	return ok, err
}

// pruned is a value without the keys that a pattern does not name, so that a difference shows no more than what matters.
func pruned(pattern, v workflow.Value) workflow.Value {
	want, err := decoded(pattern)
	if err != nil {
		return v
	}
	got, err := decoded(v)
	if err != nil {
		return v
	}
	text, err := json.Marshal(prune(want, got))
	if err != nil {
		return v
	}
	return text
}

func prune(want, got any) any {
	switch want := want.(type) {
	case map[string]any:
		all, ok := got.(map[string]any)
		if !ok {
			return got
		}
		kept := map[string]any{}
		for key, w := range want {
			if g, ok := all[key]; ok {
				kept[key] = prune(w, g)
			}
		}
		return kept
	case []any:
		if list, ok := got.([]any); ok && len(list) == len(want) {
			for i := range list {
				list[i] = prune(want[i], list[i])
			}
		}
	}
	return got
}

// pretty is a value on several lines, so that a difference shows where it is.
func pretty(v workflow.Value) []string {
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(v.String()), "", "  "); err != nil {
		return []string{v.String()}
	}
	return strings.Split(b.String(), "\n")
}

// difference shows two lists of lines as one: "- " for what was expected and is not there, "+ " for what came instead.
func difference(want, got []string) []string {
	common := lcs(want, got)
	var out []string
	i, j := 0, 0
	for _, line := range append(common, "\x00") {
		for i < len(want) && want[i] != line {
			out = append(out, "- "+want[i])
			i++
		}
		for j < len(got) && got[j] != line {
			out = append(out, "+ "+got[j])
			j++
		}
		if i < len(want) && j < len(got) {
			out = append(out, "  "+line)
			i, j = i+1, j+1
		}
	}
	return out
}

// maxDiff bounds the lines that are compared line by line; above, all of both sides is shown.
const maxDiff = 2000

// lcs is the longest common subsequence.
func lcs(a, b []string) []string {
	if len(a) > maxDiff || len(b) > maxDiff {
		return nil
	}
	width := len(b) + 1
	table := make([]int32, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				table[i*width+j] = table[(i+1)*width+j+1] + 1
			} else {
				table[i*width+j] = max(table[(i+1)*width+j], table[i*width+j+1])
			}
		}
	}
	var out []string
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			out = append(out, a[i])
			i, j = i+1, j+1
		case table[(i+1)*width+j] >= table[i*width+j+1]:
			i++
		default:
			j++
		}
	}
	return out
}
