package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/memory"
	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// jsonText generates JSON as somebody else may write it: spaces, keys in any order, escapes, numbers in any form. Keys are few, so that
// paths often meet something.
func jsonText(depth int, names ...string) *rapid.Generator[string] {
	return rapid.Custom(func(r *rapid.T) string {
		space := rapid.SampledFrom([]string{"", "", "", " ", "\n\t"})
		leaf := []string{"null", "true", "false", "0", "-0", "1.0", "2e2", "-17", "123456789012345678901", `""`, `"x"`, `"\u00e9\n\"\\\/ 日本 \ud83d\ude00"`,
			`"` + strings.Repeat("y", 100) + `"`, `"` + strings.Repeat("<é>", 40) + `"`}
		kind := 0
		if depth > 0 {
			kind = rapid.IntRange(0, 4).Draw(r, "kind")
		}
		inner := jsonText(max(depth-1, 0), names...)
		switch kind {
		case 1, 2:
			var parts []string
			for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 4, rapid.ID).Draw(r, "keys") {
				name := `"` + key + `"`
				if rapid.IntRange(0, 4).Draw(r, "escape") == 0 {
					name = fmt.Sprintf(`"\u%04x%s"`, key[0], key[1:])
				}
				parts = append(parts, space.Draw(r, "s")+name+space.Draw(r, "s")+":"+space.Draw(r, "s")+inner.Draw(r, "v")+space.Draw(r, "s"))
			}
			return "{" + strings.Join(parts, ",") + space.Draw(r, "s") + "}"
		case 3, 4:
			var parts []string
			for range rapid.IntRange(0, 4).Draw(r, "n") {
				parts = append(parts, space.Draw(r, "s")+inner.Draw(r, "v")+space.Draw(r, "s"))
			}
			return "[" + strings.Join(parts, ",") + space.Draw(r, "s") + "]"
		}
		return rapid.SampledFrom(leaf).Draw(r, "leaf")
	})
}

// readings are expressions over x; P and Q stand for paths.
var readings = []string{
	"x", "P", "P == null", "P != null", "has(x.a)", "has(P.b)", "size(P)", "P.size() > 1", "x.?a", "P.?b", "P[?0]", "x[?'a'].b", "coalesce(P, Q, 1)", "P.orValue(Q)",
	"P.?a.orValue('none')", "P.?a.hasValue()", "{'k': P, 'l': [Q, x.?a]}", "[P, ?Q.?a]", "P == null ? Q : P", "P == Q", "json.encode(P)", "P.map(v, v)", "P.all(v, v == 1)",
	"keys(P)", "P + Q", "type(P) == map", "P in [1, 2]", "P.take(1)", "merge(P, {'z': Q})", "P ? 1 : 2", "P[0].a", "P.a.b.c", "size(x.a) > 0 ? x.a[0] : null", "[size(P), size(Q)]",
}

var somePaths = []string{"x", "x.a", "x.b", "x.a.b", "x.b.c", "x.a[0]", "x.a[1].b", "x['c']", "x.c.?a.b", "x[0]", "x[2].a", "x.a.b.c"}

// TestStoredValuesReadLikeValues: an expression over a result that streamed into the payload store has the value that it has over the result
// itself, read back by whoever it is handed to.
func TestStoredValuesReadLikeValues(t *testing.T) {
	w := &Worker{Payloads: memory.NewPayloads(0), Limits: DefaultLimits()}
	s := eventstore.Stream{Tenant: "t", ID: "e"}
	paths := rapid.SampledFrom(somePaths)
	rapid.Check(t, func(r *rapid.T) {
		text := jsonText(4, "a", "b", "c", "d").Draw(r, "text")
		src := rapid.SampledFrom(readings).Draw(r, "form")
		src = strings.ReplaceAll(src, "P", paths.Draw(r, "P"))
		src = strings.ReplaceAll(src, "Q", paths.Draw(r, "Q"))
		e, err := expr.Load(&workflow.Expr{Source: src})
		require.NoError(r, err)
		var uses []workflow.Use
		for _, read := range e.Reads() {
			uses = append(uses, workflow.Use{Path: read.Path, Pass: read.Pass, Size: read.Size})
		}
		stored, err := w.store(t.Context(), s, uses, strings.NewReader(text))
		require.NoError(r, err)
		whole, err := expr.Canonical([]byte(text))
		require.NoError(r, err)
		require.Equal(r, w.evaluated(t.Context(), e, workflow.Inline(whole)), w.evaluated(t.Context(), e, stored), "%s of %s, known %s", src, text, stored.Holes[0].Ref.Known)
	})
}

// evaluated is the text of an expression with x bound to p, with all references filled in, or the code of its error.
func (w *Worker) evaluated(ctx context.Context, e *expr.Expr, p workflow.Payload) string {
	got, err := e.Eval(expr.NewActivation(func(string) (expr.Binding, bool) { return expr.Of(p), true }))
	if err != nil {
		return err.(*workflow.Error).Code // the messages may differ
	}
	text, err := w.Text(ctx, "t", got, 1<<30)
	if err == nil {
		text, err = expr.Canonical(text)
	}
	if err != nil {
		return "cannot be read: " + err.Error()
	}
	return string(text)
}

// TestPartsReadLikeParts: the part of a stored text at a path is what stands there, and null where nothing does.
func TestPartsReadLikeParts(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := jsonText(4, "a", "b", "c", "d", "0", "01").Draw(r, "text")
		path := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "0", "1", "2", "-1", "01"}), 0, 4).Draw(r, "path")
		read := newPartReader(io.NopCloser(strings.NewReader(text)), path)
		got, err := io.ReadAll(read)
		require.NoError(r, err)
		require.NoError(r, read.Close())
		whole, err := expr.Canonical([]byte(text))
		require.NoError(r, err)
		part, err := expr.Canonical(got)
		require.NoError(r, err, "%q", got)
		require.Equal(r, string(placed(r, whole, path)), string(part), "%s at %v", text, path)
	})
}

// placed is the part of a value at a path, by the standard library.
func placed(t require.TestingT, v workflow.Value, path []string) workflow.Value {
	for _, key := range path {
		var fields map[string]json.RawMessage
		var items []json.RawMessage
		switch {
		case json.Unmarshal(v, &fields) == nil:
			v = workflow.Value(fields[key])
		case json.Unmarshal(v, &items) == nil:
			i, err := strconv.Atoi(key)
			if err != nil || strconv.Itoa(i) != key || i < 0 || i >= len(items) {
				return workflow.Null
			}
			v = workflow.Value(items[i])
		default:
			return workflow.Null
		}
		if len(v) == 0 {
			return workflow.Null
		}
	}
	out, err := expr.Canonical(v)
	require.NoError(t, err)
	return out
}
