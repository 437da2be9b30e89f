package secret_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/secret"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// disguise is a way in which a value comes back, by the encoders that peers really use, and the way to see it.
type disguise struct {
	name string
	wear func(v string) string
	see  func(s string) string
}

func same(s string) string { return s }

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// unbase64 decodes every run of digits at every alignment.
func unbase64(enc *base64.Encoding) func(string) string {
	return func(s string) string {
		var out strings.Builder
		for _, word := range strings.FieldsFunc(s, func(r rune) bool {
			return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_", r)
		}) {
			for skip := range 4 {
				if len(word) > skip {
					w := word[skip:]
					b, _ := enc.DecodeString(w[:len(w)-len(w)%4])
					out.Write(b)
					out.WriteByte(' ')
				}
			}
		}
		return out.String()
	}
}

var disguises = []disguise{
	{"as it is", same, same},
	{"JSON", func(v string) string { return mustJSON(map[string]string{"v": v}) }, nil},
	{"JSON in JSON", func(v string) string { return mustJSON(mustJSON([]string{v})) }, nil},
	{"query", func(v string) string { return url.Values{"key": {v}}.Encode() }, func(s string) string { u, _ := url.QueryUnescape(s); return u }},
	{"path", func(v string) string { return "/a/" + url.PathEscape(v) + "/b" }, func(s string) string { u, _ := url.PathUnescape(s); return u }},
	{"user of a URL", func(v string) string {
		return (&url.URL{Scheme: "https", User: url.UserPassword("ann", v), Host: "x"}).String()
	}, func(s string) string { u, _ := url.PathUnescape(s); return u }},
	{"basic authorization", func(v string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte("ann:"+v)) }, unbase64(base64.RawStdEncoding)},
	{"base64 for URLs", func(v string) string { return base64.RawURLEncoding.EncodeToString([]byte("x" + v + "yz")) }, unbase64(base64.RawURLEncoding)},
	{"a claim of a token", func(v string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(mustJSON(map[string]string{"k": v})))
	}, nil},
	{"hexadecimal", func(v string) string { return hex.EncodeToString([]byte("é" + v)) }, func(s string) string {
		var out []byte
		for i := 0; i+1 < len(s); i++ {
			if b, err := hex.DecodeString(s[i : i+2]); err == nil {
				out = append(out, b...)
				i++
			} else {
				out = append(out, ' ')
			}
		}
		return string(out)
	}},
	{"quoted by Go", func(v string) string { return fmt.Sprintf("parse %q: bad", v) }, nil},
	{"HTML", func(v string) string { return "<b>" + html.EscapeString(v) + "</b>" }, html.UnescapeString},
	{"basic authorization in a query in JSON", func(v string) string {
		return mustJSON("/x?auth=" + url.QueryEscape(base64.StdEncoding.EncodeToString([]byte("a:"+v))))
	}, nil},
}

// values draws secrets: mostly of the letters of keys, some with whatever hurts encoders.
func values() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[A-Za-z0-9+/=_-]{6,60}`),
		rapid.StringMatching(`[A-Za-z0-9 <>&"'\\/%+#?é€😀\n\t]{6,30}`),
	)
}

// TestMaskHides: whatever a value wears, it is not seen in what was masked, and what stands beside it is.
func TestMaskHides(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		value := values().Draw(rt, "value")
		if strings.TrimSpace(value) != value {
			rt.Skip("trimmed forms are looked at elsewhere")
		}
		d := rapid.SampledFrom(disguises).Draw(rt, "disguise")
		m := secret.NewMask(secret.Value{Name: "pay", Text: value})
		text := "before " + d.wear(value) + " behind"
		masked := m.String(text)
		require.NotEqual(rt, text, masked, d.name)
		require.Contains(rt, masked, "[secret:pay]")
		require.True(rt, strings.HasPrefix(masked, "before ") && strings.HasSuffix(masked, " behind") || strings.Contains("before  behind", value), masked)
		require.NotContains(rt, masked, value)
		if d.see != nil {
			require.NotContains(rt, d.see(masked), value, d.name)
		}
		require.Equal(rt, masked, m.String(masked), "masking again changes nothing")
	})
}

// TestMaskJSON: a JSON text stays one, holds no value in any string or number, and keeps all that is no secret; and a stream is masked like a text.
func TestMaskJSON(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		value := values().Draw(rt, "value")
		m := secret.NewMask(secret.Value{Name: "pay", Text: value}, secret.Value{Name: "pin", Text: "73519"})
		doc := drawJSON(rt, value, 3)
		text, err := json.Marshal(doc)
		require.NoError(rt, err)
		if rapid.Bool().Draw(rt, "escape all") {
			text = []byte(escapeAll(string(text)))
		}
		inMemory := m.JSON(bytes.Clone(text))
		checkMasked(rt, value, inMemory)
		var back, want any
		require.NoError(rt, json.Unmarshal(inMemory, &back))
		if m.String(string(text)) == string(text) && string(inMemory) == string(text) {
			require.NoError(rt, json.Unmarshal(text, &want))
			require.Equal(rt, want, back)
		}

		if bytes.Contains(text, []byte(`\u`)) {
			return // a stream is masked as it is written, and knows the usual escapes only
		}
		size := rapid.IntRange(1, 64).Draw(rt, "chunk")
		streamed, err := io.ReadAll(m.Reader(io.NopCloser(&chunks{text: text, size: size})))
		require.NoError(rt, err)
		checkMasked(rt, value, streamed)
	})
}

// checkMasked looks for values in every token.
func checkMasked(t require.TestingT, value string, text []byte) {
	require.True(t, json.Valid(text), "%s", text)
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		shown := fmt.Sprint(token)
		require.NotContains(t, shown, value)
		require.NotContains(t, shown, "73519")
	}
}

// escapeAll writes letters as \u escapes, which no encoder does that means well.
func escapeAll(text string) string {
	var out strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			n := 2
			if text[i+1] == 'u' {
				n = 6
			}
			out.WriteString(text[i : i+n])
			i += n - 1
		case c == '"':
			quoted = !quoted
			out.WriteByte(c)
		case quoted && c >= 'a' && c <= 'z':
			fmt.Fprintf(&out, `\u%04X`, c)
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

func drawJSON(t *rapid.T, value string, depth int) any {
	switch rapid.IntRange(0, 7).Draw(t, "form") {
	case 0:
		return rapid.Float64Range(-1e9, 1e9).Draw(t, "number")
	case 1:
		return json.Number(rapid.StringMatching(`[1-9][0-9]{0,3}73519[0-9]{0,3}(\.5)?`).Draw(t, "number with a secret"))
	case 2:
		return rapid.String().Draw(t, "text")
	case 3:
		return rapid.StringMatching(`[a-z"\\ ]{0,9}`).Draw(t, "before") + value + rapid.StringMatching(`[a-z"\\ ]{0,9}`).Draw(t, "behind")
	case 4:
		return rapid.SampledFrom([]any{nil, true, false, "73519", value}).Draw(t, "word")
	case 5, 6:
		if depth == 0 {
			return value
		}
		list := make([]any, rapid.IntRange(0, 4).Draw(t, "items"))
		for i := range list {
			list[i] = drawJSON(t, value, depth-1)
		}
		return list
	}
	if depth == 0 {
		return 7
	}
	return map[string]any{rapid.SampledFrom([]string{"a", value, "x73519"}).Draw(t, "key"): drawJSON(t, value, depth-1), "b": drawJSON(t, value, depth-1)}
}

// chunks hands a text out in pieces, so that values are cut.
type chunks struct {
	text []byte
	size int
}

func (c *chunks) Read(b []byte) (int, error) {
	if len(c.text) == 0 {
		return 0, io.EOF
	}
	n := copy(b, c.text[:min(c.size, len(c.text))])
	c.text = c.text[n:]
	return n, nil
}

func TestMaskParts(t *testing.T) {
	pem := "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nEFAASCBKcwggSjAgEAAoIBAQC7\n-----END PRIVATE KEY-----\n"
	account := `{"user": "ann", "password": "open sesame", "deep": ["another secret"]}`
	m := secret.NewMask(secret.Value{Name: "key", Text: pem}, secret.Value{Name: "db", Text: account}, secret.Value{Name: "short", Text: "abc"})
	for text, want := range map[string]string{
		"line: EFAASCBKcwggSjAgEAAoIBAQC7": "line: [secret:key]",
		strings.TrimSpace(pem):             "[secret:key]",
		"pw=open+sesame":                   "pw=[secret:db]",
		"deep another secret":              "deep [secret:db]",
		"ann and abc are no secrets":       "ann and abc are no secrets",
		account:                            "[secret:db]",
		"":                                 "",
		"open sesam":                       "open sesam",
		"open sesameopen sesame":           "[secret:db][secret:db]",
		base64.StdEncoding.EncodeToString([]byte(account)): "[secret:db]Q==",
	} {
		require.Equal(t, want, m.String(text))
	}
	var none *secret.Mask
	require.Equal(t, "x", none.String("x"))
	require.Equal(t, "x", secret.NewMask().String("x"))
}

func TestMaskError(t *testing.T) {
	m := secret.NewMask(secret.Value{Name: "pay", Text: "sesame"})
	calm := &workflow.Error{Code: "a.b", Category: workflow.CategoryExternal, Message: "no", Details: workflow.Value(`{"a":1}`)}
	require.Same(t, calm, m.Error(calm))
	loud := &workflow.Error{Code: "http.sesame", Category: "sesame", Message: "key=sesame", Retryable: true, Details: workflow.Value(`{"sesame":["sesame"]}`)}
	require.Equal(t, &workflow.Error{Code: "http.[secret:pay]", Category: "[secret:pay]", Message: "key=[secret:pay]", Retryable: true,
		Details: workflow.Value(`{"[secret:pay]":["[secret:pay]"]}`)}, m.Error(loud))
	require.Equal(t, "key=sesame", loud.Message, "the error itself is not changed")
	require.Nil(t, m.Error(nil))
}

type account struct {
	User     string
	Password *string
}

func TestHandler(t *testing.T) {
	m := secret.NewMask(secret.Value{Name: "pay", Text: "sesame"}, secret.Value{Name: "pin", Text: "73519"})
	password := "open sesame"
	for name, next := range map[string]func(io.Writer) slog.Handler{
		"text": func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) },
		"JSON": func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			log := slog.New(secret.Handler(next(&out), func() *secret.Mask { return m }))
			log.With("a", "sesame").WithGroup("sesame").Info("got sesame", "sesame", 1, "n", 73519, "f", 73519.5, "err", errors.New("sesame"),
				"bytes", []byte("sesame"), "struct", account{"ann", &password}, slog.Group("g", "in", "sesame", slog.Group("h", "deeper", "sesame")),
				"lazy", lazy{}, "url", url.PathEscape("sesame/"), "fine", 42, "list", []string{"sesame"})
			require.Equal(t, out.String(), m.String(out.String()))
			require.NotContains(t, out.String(), "sesame")
			require.NotContains(t, out.String(), base64.StdEncoding.EncodeToString([]byte("sesame")))
			require.Contains(t, out.String(), "42")
			require.False(t, log.Enabled(t.Context(), slog.LevelDebug))
		})
	}
}

type lazy struct{}

func (lazy) LogValue() slog.Value { return slog.StringValue("sesame") }

// TestReaderPassesFaultsOn: a stream that breaks off is not taken for one that ended.
func TestReaderPassesFaultsOn(t *testing.T) {
	m := secret.NewMask(secret.Value{Name: "pay", Text: "sesame"})
	broken := io.MultiReader(strings.NewReader(`"ses`), iotest.ErrReader(io.ErrUnexpectedEOF))
	text, err := io.ReadAll(m.Reader(io.NopCloser(broken)))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, `"ses`, string(text))
}

func BenchmarkMask(b *testing.B) {
	var values []secret.Value
	for i := range 20 {
		values = append(values, secret.Value{Name: fmt.Sprint("s", i), Text: fmt.Sprintf("k3y-%d/0123456789abcdefghijklmnop", i)})
	}
	m := secret.NewMask(values...)
	text := strings.Repeat(`{"id":12345,"name":"a customer with a usual name","note":"nothing of interest here"},`, 12_000)
	b.Run("text", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			m.String(text)
		}
	})
	b.Run("stream", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			_, _ = io.Copy(io.Discard, m.Reader(io.NopCloser(strings.NewReader(text))))
		}
	})
}
