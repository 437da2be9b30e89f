package secret_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/secret"
)

// tangle draws values that overlap, and a text of them and of their pieces.
func tangle(t *rapid.T) (values []secret.Value, text string) {
	letters := rapid.StringMatching(`[abAB"\\é/]{4,9}`)
	var pieces []string
	for i := range rapid.IntRange(1, 4).Draw(t, "values") {
		v := letters.Draw(t, "value")
		values = append(values, secret.Value{Name: fmt.Sprint(i), Text: v})
		pieces = append(pieces, v, v[:len(v)/2], v[len(v)/2:], "a", "B", "é", "\\", `"`, "\n", " ")
	}
	return values, strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 30).Draw(t, "text"), "")
}

// TestMaskCoversAll: no byte of a value stays, whatever overlaps it, and each byte that is of none does.
func TestMaskCoversAll(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var values []secret.Value
		for i := range rapid.IntRange(1, 4).Draw(rt, "values") {
			values = append(values, secret.Value{Name: fmt.Sprint(i), Text: rapid.StringMatching(`[xyz]{4,9}`).Draw(rt, "value")})
		}
		text := rapid.StringMatching(`[xyz]{0,60}`).Draw(rt, "text")
		covered := make([]bool, len(text))
		for _, v := range values {
			for i := range text {
				if strings.HasPrefix(text[i:], v.Text) {
					for j := range v.Text {
						covered[i+j] = true
					}
				}
			}
		}
		left := ""
		for i, c := range covered {
			if !c {
				left += text[i : i+1]
			}
		}
		masked := secret.NewMask(values...).String(text)
		for _, v := range values {
			masked = strings.ReplaceAll(masked, "[secret:"+v.Name+"]", "")
		}
		require.Equal(rt, left, masked)
	})
	m := secret.NewMask(secret.Value{Name: "a", Text: "abcdXY"}, secret.Value{Name: "b", Text: "XYZsecretlongvalue"})
	require.Equal(t, "[secret:a]", m.String("abcdXYZsecretlongvalue"))
}

// TestTextAtAnyCut: pieces are masked as the whole is, wherever they are cut; and what was given out at a cut is the beginning of that.
func TestTextAtAnyCut(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		values, text := tangle(rt)
		m := secret.NewMask(values...)
		out := secret.NewText(func() *secret.Mask { return m })
		got := ""
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "piece")
			got += out.Add([]byte(rest[:n]))
			require.True(rt, strings.HasPrefix(m.String(text), got), "%q of %q", got, m.String(text))
			rest = rest[n:]
		}
		require.Equal(rt, m.String(text), got+out.End())
	})
}

// TestTextDoesNotWait: what can be no beginning of a secret is given out at once.
func TestTextDoesNotWait(t *testing.T) {
	m := secret.NewMask(secret.Value{Name: "pay", Text: "open sesame"})
	out := secret.NewText(func() *secret.Mask { return m })
	require.Equal(t, "a line\n", out.Add([]byte("a line\n")))
	require.Equal(t, "", out.Add([]byte("open ses")))
	require.Equal(t, "open sesXX", out.Add([]byte("XX")))
	plain := secret.NewText(func() *secret.Mask { return nil })
	require.Equal(t, "open ses", plain.Add([]byte("open ses")))
	require.Empty(t, plain.End())
}

// TestReaderIsJSON: a stream is masked exactly as the whole text is, however it is escaped, and whatever is at the border of a buffer.
func TestReaderIsJSON(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		values, text := tangle(rt)
		m := secret.NewMask(append(values, secret.Value{Name: "pin", Text: "73519"})...)
		number := json.Number(rapid.StringMatching(`[1-9][0-9]{0,6}(73519)?[0-9]{0,6}(\.73519)?`).Draw(rt, "number"))
		doc := mustJSON([]any{text, number, map[string]any{text: number, "": []any{true, text}}, number})
		if rapid.Bool().Draw(rt, "escape all") {
			doc = escapeAll(doc)
		}
		// Blanks move it over the border of a buffer of 32 KiB.
		doc = strings.Repeat(" ", rapid.SampledFrom([]int{0, 32<<10 - rapid.IntRange(0, len(doc)).Draw(rt, "border")}).Draw(rt, "blanks")) + doc
		streamed, err := io.ReadAll(m.Reader(io.NopCloser(&chunks{text: []byte(doc), size: rapid.SampledFrom([]int{3, 1000, 1 << 20}).Draw(rt, "chunk")})))
		require.NoError(rt, err)
		require.True(rt, json.Valid(streamed), "%s", streamed)
		require.Equal(rt, plain(rt, m.JSON([]byte(doc))), plain(rt, streamed))
		if calm := m.JSON([]byte(doc)); string(calm) == doc {
			require.Equal(rt, doc, string(streamed), "what holds no secret stays as it was written")
		}
	})
}

func plain(t require.TestingT, text []byte) any {
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.UseNumber()
	var v any
	require.NoError(t, dec.Decode(&v), "%s", text)
	return v
}

// TestReaderRefusesEndlessNumbers: no number is passed on that was not looked into as a whole.
func TestReaderRefusesEndlessNumbers(t *testing.T) {
	m := secret.NewMask(secret.Value{Name: "pin", Text: "73519"})
	text, err := io.ReadAll(m.Reader(io.NopCloser(strings.NewReader("[1," + strings.Repeat("7", 5000) + "]"))))
	require.ErrorContains(t, err, "number of more than 4096 bytes")
	require.Equal(t, "[1,", string(text))
}

// TestMaskPartsOfJSON: of a value that is JSON of any form, each text and number of 4 bytes or more is a secret.
func TestMaskPartsOfJSON(t *testing.T) {
	for value, parts := range map[string][]string{
		`{"user":"ann","pin":"1a2b","deep":{"port":73519}}`: {"1a2b", "73519"},
		`["key-1", ["key-2", 45.75], {"a": 123456}]`:        {"key-1", "key-2", "45.75", "123456"},
		`"quoted"`: {"quoted"},
		`[1.5e3]`:  {"1.5e3", "1500"},
	} {
		m := secret.NewMask(secret.Value{Name: "db", Text: value})
		for _, part := range parts {
			require.Equal(t, "is [secret:db].", m.String("is "+part+"."))
		}
		require.Equal(t, "ann, true and null", m.String("ann, true and null"))
	}
}
