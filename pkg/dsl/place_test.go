package dsl

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/workflow"
)

func sourceOf(t require.TestingT, document string) *source {
	k := newSink("test.yaml")
	s := load("test.yaml", []byte(document), k)
	require.Empty(t, k.sorted())
	return s
}

func where(at workflow.Position) string { return fmt.Sprintf("%d:%d", at.Line, at.Column) }

func TestPlacesByPointer(t *testing.T) {
	s := sourceOf(t, strings.Join([]string{
		"steps:",                // 1
		"  charge:   # comment", // 2
		"    needs: [ reserve, 'approve', \"x\" ]", // 3
		"    with: { a/b: 1, '~c': { é: [ 2 ] } }", // 4
		"    when: &w !!str input.a",               // 5
		"    join:",                                // 6
		"      &j any",                             // 7
		"  again: *w",                              // 8
		"",
	}, "\n"))
	for pointer, want := range map[string][3]string{ // value, key, end of the value
		"":                           {"1:1", "1:1", "0"},
		"/steps":                     {"2:3", "1:1", "0"},
		"/steps/charge":              {"3:5", "2:3", "0"},
		"/steps/charge/needs":        {"3:12", "3:5", "0"},
		"/steps/charge/needs/0":      {"3:14", "3:14", "21"},
		"/steps/charge/needs/1":      {"3:23", "3:23", "32"},
		"/steps/charge/needs/2":      {"3:34", "3:34", "37"},
		"/steps/charge/needs/3":      {"3:12", "3:12", "0"}, // there is none: the list
		"/steps/charge/with/a~1b":    {"4:18", "4:13", "19"},
		"/steps/charge/with/~0c":     {"4:27", "4:21", "0"},
		"/steps/charge/with/~0c/é/0": {"4:34", "4:34", "35"},
		"/steps/charge/when":         {"5:20", "5:5", "27"},
		"/steps/charge/join":         {"7:10", "6:5", "13"},
		"/steps/again":               {"5:20", "8:3", "27"}, // the value is that of the anchor
		"/steps/none/at/all":         {"2:3", "2:3", "0"},
		"/nothing":                   {"1:1", "1:1", "0"},
	} {
		at, end := s.span(pointer, false)
		require.Equal(t, want, [3]string{where(s.at(pointer)), where(s.keyAt(pointer)), fmt.Sprint(end)}, pointer)
		require.Equal(t, s.at(pointer), at, pointer)
	}
	require.Equal(t, "/steps/charge/needs/1", s.pointerAt(workflow.Position{Line: 3, Column: 25}))
	require.Equal(t, "/steps/charge/with/a~1b", s.pointerAt(workflow.Position{Line: 4, Column: 14}), "a key has the pointer of its value")
}

func TestPlacesInsideTexts(t *testing.T) {
	for _, test := range []struct {
		name, document, find, want string
	}{
		{"plain", "v: input.a + input.b\n", "input.b", "1:14"},
		{"single quotes", "v: 'it''s ${ input.b }'\n", "input.b", "1:14"},
		{"double quotes", `v: "\u00e9\t\"${ input.b }"` + "\n", "input.b", "1:18"},
		{"double quotes with a pair", `{"v": "\ud83d\ude00${ input.b }"}`, "input.b", "1:23"},
		{"wide characters", "v: 'é😀 ${ input.b }'\n", "input.b", "1:11"},
		{"plain over lines", "v: input.a +\n   input.b\n", "input.b", "2:4"},
		{"quoted over lines", "v: 'input.a\n\n   + input.b'\n", "input.b", "3:6"},
		{"escaped line end", "v: \"input.a \\\n  + input.b\"\n", "input.b", "2:5"},
		{"literal block", "v: |\n  input.a +\n    input.b\n", "input.b", "3:5"},
		{"literal block with indicators", "v: |2-\n   input.a +\n\n  input.b\n", "input.b", "4:3"},
		{"folded block", "v: >-  # why\n  input.a +\n  input.b\n", "input.b", "3:3"},
		{"folded block with a paragraph", "v: >\n  input.a +\n\n\n  input.b\n", "input.b", "5:3"},
		{"carriage returns", "v: |\r\n  input.a +\r\n  input.b\r\n", "input.b", "3:3"},
		{"anchor and tag", "v: &a !!str\n  input.b\n", "input.b", "2:3"},
		{"after a byte order mark", "\ufeffv: input.b\n", "input.b", "1:4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := sourceOf(t, test.document)
			n := s.node("/v")
			offset := strings.Index(n.text, test.find)
			require.GreaterOrEqual(t, offset, 0, "%q", n.text)
			require.Equal(t, test.want, where(s.place(n, offset)))
			require.Equal(t, test.want, where(s.inside(s.place(n, 0), offset)))
			require.Equal(t, "/v", s.pointerAt(s.place(n, offset)))
		})
	}
}

// The place of each character of a text, however it is written, is a place where the document has that character.
func TestPlacesOfRandomTexts(t *testing.T) {
	letters := rapid.SampledFrom([]rune("ab ${}é世😀'\"\\#:\n,[]\t"))
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOfN(letters, 1, 30).Draw(t, "text"))
		key := rapid.SampledFrom([]string{"a", "'é é'", "世界"}).Draw(t, "key")
		written, ok := write(t, text)
		if !ok {
			t.Skip("not a text for that style")
		}
		document := "first: 1\n" + key + ":\n  - " + written + "\n"
		k := newSink("test.yaml")
		s := load("test.yaml", []byte(document), k)
		require.Empty(t, k.sorted(), document)
		n := s.root.entries[1].value.items[0]
		places := s.text.places(n)
		require.Len(t, places, len(n.text)+1)
		for i, r := range n.text {
			if unicode.IsSpace(r) {
				continue
			}
			rest := s.text.data[s.text.offset(places[i]):]
			require.True(t, strings.HasPrefix(rest, string(r)) || strings.HasPrefix(rest, `\`), "%q: %q at %s is %.10q", document, r, where(places[i]), rest)
			require.Equal(t, places[i], s.place(n, i), "%q: %q", document, r)
			require.Equal(t, places[i], s.inside(s.place(n, 0), i), "%q: %q", document, r)
		}
	})
}

// write writes a text in one of YAML's styles; false where that style cannot hold it.
func write(t *rapid.T, text string) (string, bool) {
	switch rapid.IntRange(0, 4).Draw(t, "style") {
	case 0:
		return "'" + strings.ReplaceAll(strings.ReplaceAll(text, "'", "''"), "\n", "\n\n    ") + "'", !strings.Contains(text, "\t")
	case 1:
		quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "é", `\xe9`, "\t", `\t`).Replace(text)
		return `"` + quoted + `"`, true
	case 2:
		return "|-\n     " + strings.ReplaceAll(text, "\n", "\n     "), !strings.HasPrefix(text, " ") && !strings.HasPrefix(text, "\n") && !strings.HasPrefix(text, "\t") && strings.TrimSpace(text) != ""
	case 3:
		return ">-\n     " + strings.ReplaceAll(text, "\n", "\n     "), !strings.HasPrefix(text, " ") && !strings.HasPrefix(text, "\n") && !strings.HasPrefix(text, "\t") && strings.TrimSpace(text) != ""
	}
	plain := strings.Trim(text, " \t\n")
	return plain, plain != "" && !strings.ContainsAny(plain, "#:,[]{}'\"\\\n\t$")
}

func TestSheetFindsItsPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := string(rapid.SliceOfN(rapid.SampledFrom([]rune("ab\n\r é世\u0085\u2028")), 0, 200).Draw(t, "data"))
		sheet := newSheet(data)
		for i := range data {
			at := sheet.position(i)
			if lineBreak(data[i:]) == 0 {
				require.Equal(t, i, sheet.offset(at), "%q %d %s", data, i, where(at))
				r, _ := utf8.DecodeRuneInString(data[i:])
				require.Equal(t, r, []rune(sheet.line(at.Line))[at.Column-1])
			}
		}
	})
}
