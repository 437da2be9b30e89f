package activity_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/activity"
)

func part(at, text string) activity.Part {
	return activity.Part{At: at, Size: int64(len(text)), Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(text)), nil
	}}
}

func TestWriteTextPutsPartsInTheirPlaces(t *testing.T) {
	for _, c := range []struct {
		name, skeleton, want string
		parts                []activity.Part
	}{
		{"no parts", `{"a":1}`, `{"a":1}`, nil},
		{"absent", ``, `null`, nil},
		{"whole", `null`, `[1,2]`, []activity.Part{part("", "[1,2]")}},
		{"member", `{"a":null,"b":1}`, `{"a":"x","b":1}`, []activity.Part{part("/a", `"x"`)}},
		{"element", `[0,null,2]`, `[0,{"k":1},2]`, []activity.Part{part("/1", `{"k":1}`)}},
		{"deep", `{"a":{"b":[null,{}]},"c":[]}`, `{"a":{"b":[7,{}]},"c":[]}`, []activity.Part{part("/a/b/0", `7`)}},
		{"escaped names", `{"a/b":null,"c~d":null}`, `{"a/b":1,"c~d":2}`, []activity.Part{part("/a~1b", "1"), part("/c~0d", "2")}},
		{"doubles keep their form", `{"a":3.0,"b":null}`, `{"a":3.0,"b":1e3}`, []activity.Part{part("/b", "1e3")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			require.NoError(t, activity.Document{JSON: json.RawMessage(c.skeleton), Parts: c.parts}.WriteText(t.Context(), &b))
			require.Equal(t, c.want, b.String())
		})
	}
}

// TestWriteTextIsTheWhole takes parts out of random documents and expects them back in their places.
func TestWriteTextIsTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := drawJSON(t, 3)
		var parts []activity.Part
		skeleton := cut(t, whole, "", &parts)
		text, err := json.Marshal(skeleton)
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, activity.Document{JSON: text, Parts: parts}.WriteText(context.Background(), &b))
		want, err := json.Marshal(whole)
		require.NoError(t, err)
		require.JSONEq(t, string(want), b.String())
	})
}

func drawJSON(t *rapid.T, depth int) any {
	n := rapid.IntRange(0, 4).Draw(t, "kind")
	switch {
	case depth > 0 && n == 0:
		list := make([]any, rapid.IntRange(0, 3).Draw(t, "len"))
		for i := range list {
			list[i] = drawJSON(t, depth-1)
		}
		return list
	case depth > 0 && n == 1:
		object := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "len") {
			object[rapid.StringMatching(`[a-z/~"<&é]{0,4}`).Draw(t, "key")] = drawJSON(t, depth-1)
		}
		return object
	case n == 2:
		return rapid.StringMatching(`[a-z"\\<é]{0,6}`).Draw(t, "text")
	case n == 3:
		return rapid.Bool().Draw(t, "bool")
	}
	return rapid.IntRange(-1000, 1000).Draw(t, "int")
}

func cut(t *rapid.T, v any, at string, parts *[]activity.Part) any {
	if rapid.IntRange(0, 3).Draw(t, "cut") == 0 {
		text, err := json.Marshal(v)
		require.NoError(t, err)
		*parts = append(*parts, part(at, string(text)))
		return nil
	}
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = cut(t, item, fmt.Sprintf("%s/%d", at, i), parts)
		}
		return out
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		out := map[string]any{}
		for _, key := range keys {
			out[key] = cut(t, v[key], at+"/"+strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1"), parts)
		}
		return out
	}
	return v
}

func TestDecodeLoadsPartsOrLeavesThem(t *testing.T) {
	type inner struct {
		Doc activity.Document `json:"doc"`
	}
	type input struct {
		ID    string            `json:"id"`
		Small []int             `json:"small"`
		Big   activity.Document `json:"big"`
		Many  []inner           `json:"many"`
	}
	doc := activity.Document{
		JSON:  json.RawMessage(`{"id":"x","small":null,"big":null,"many":[{"doc":null},{"doc":{"plain":1}}]}`),
		Parts: []activity.Part{part("/small", "[1,2]"), part("/big", `{"a":1}`), part("/many/0/doc", `"y"`)},
	}
	var in input
	require.NoError(t, doc.Decode(t.Context(), &in))
	require.Equal(t, []int{1, 2}, in.Small, "a part that lands in a plain field is loaded")
	require.Len(t, in.Big.Parts, 1, "a part that lands in a Document stays where it is")
	for want, d := range map[string]activity.Document{`{"a":1}`: in.Big, `"y"`: in.Many[0].Doc, `{"plain":1}`: in.Many[1].Doc} {
		var b bytes.Buffer
		require.NoError(t, d.WriteText(t.Context(), &b))
		require.Equal(t, want, b.String())
	}
}

func TestWhole(t *testing.T) {
	d, err := activity.Document{JSON: json.RawMessage(`{"a":null}`), Parts: []activity.Part{part("/a", `"x"`)}}.Whole(t.Context())
	require.NoError(t, err)
	require.Empty(t, d.Parts)
	require.Equal(t, `{"a":"x"}`, string(d.JSON))
	huge := part("/a", "1")
	huge.Size = activity.MaxInline
	_, err = activity.Document{JSON: json.RawMessage(`{"a":null}`), Parts: []activity.Part{huge}}.Whole(t.Context())
	require.ErrorContains(t, err, activity.CodeTooLarge)
}

func TestDecodeRefuses(t *testing.T) {
	type input struct {
		Amount int `json:"amount"`
	}
	huge := part("/amount", "1")
	huge.Size = activity.MaxInline + 1
	for _, c := range []struct {
		name, code, says string
		doc              activity.Document
	}{
		{"an unknown field", activity.CodeInput, `unknown field "amout"`, activity.NewDocument(json.RawMessage(`{"amout":1}`))},
		{"a wrong type", activity.CodeInput, `"amount" is a string, where int is wanted`, activity.NewDocument(json.RawMessage(`{"amount":"1"}`))},
		{"a part too large for memory", activity.CodeTooLarge, "stream it", activity.Document{JSON: json.RawMessage(`{"amount":null}`), Parts: []activity.Part{huge}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var in input
			err := c.doc.Decode(t.Context(), &in)
			typed := (*activity.Error)(nil)
			require.ErrorAs(t, err, &typed)
			require.Equal(t, c.code, typed.Code)
			require.Contains(t, typed.Message, c.says)
		})
	}
}

// TestNoInputNamesAPart: what stands for a part while a document is decoded cannot be written by a user.
func TestNoInputNamesAPart(t *testing.T) {
	type input struct {
		Mine  activity.Document `json:"mine"`
		Other activity.Document `json:"other"`
	}
	doc := activity.Document{JSON: json.RawMessage(`{"mine":{"0":0},"other":null}`), Parts: []activity.Part{part("/other", `"hidden"`)}}
	var in input
	require.NoError(t, doc.Decode(t.Context(), &in))
	require.Empty(t, in.Mine.Parts)
	require.JSONEq(t, `{"0":0}`, string(in.Mine.JSON))
	_, err := json.Marshal(in)
	require.ErrorContains(t, err, "streamed")
}
