package expr

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/workflow"
)

func TestCanonical(t *testing.T) {
	tests := []struct{ in, want string }{
		{`null`, `null`},
		{" \t\r\n true ", `true`},
		{`{"b":1,"a":2}`, `{"a":2,"b":1}`},
		{` { "b" : [ 1 , 2 ] , "a" : { } } `, `{"a":{},"b":[1,2]}`},
		{`{"b":{"d":1,"c":2},"a":[{"y":1,"x":2}]}`, `{"a":[{"x":2,"y":1}],"b":{"c":2,"d":1}}`},
		{`{"B":1,"a":2,"é":3,"😀":4,"":0}`, `{"":0,"B":1,"a":2,"é":3,"😀":4}`},
		{`{"a":1,"\u0061b":2}`, `{"a":1,"ab":2}`},
		{`1`, `1`}, {`-1`, `-1`}, {`0`, `0`}, {`-0`, `0`}, {`9223372036854775807`, `9223372036854775807`},
		{`-9223372036854775808`, `-9223372036854775808`},
		{`9223372036854775808`, `9223372036854776000.0`}, {`123456789012345678901234567890`, `1.2345678901234568e+29`},
		{`1.0`, `1.0`}, {`1.50`, `1.5`}, {`-0.0`, `-0.0`}, {`1e2`, `100.0`}, {`1E+2`, `100.0`}, {`0.1e1`, `1.0`},
		{`1e20`, `100000000000000000000.0`}, {`1e21`, `1e+21`}, {`1e-6`, `0.000001`}, {`1e-7`, `1e-7`}, {`1.5e-10`, `1.5e-10`},
		{`5e-324`, `5e-324`}, {`1e-400`, `0.0`}, {`1.7976931348623157e308`, `1.7976931348623157e+308`},
		{`"a\/b"`, `"a/b"`}, {`"\u00e9\u20ac"`, `"é€"`}, {`"\ud83d\ude00"`, `"😀"`}, {`"\u0000"`, `"\u0000"`},
		{`"\u001f\u007f\u2028"`, "\"\\u001f\x7f\u2028\""}, {`"\b\f\n\r\t\"\\"`, `"\b\f\n\r\t\"\\"`}, {`"\u0008"`, `"\b"`},
		{`"<>&"`, `"<>&"`}, {`"\u003c"`, `"<"`},
		{`[]`, `[]`}, {`[[],[[]]]`, `[[],[[]]]`},
		{strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth), strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)},
	}
	for _, test := range tests {
		got, err := Canonical([]byte(test.in))
		require.NoError(t, err, test.in)
		require.Equal(t, test.want, string(got), test.in)
	}
}

func TestCanonicalRefuses(t *testing.T) {
	tests := []struct{ in, want string }{
		{``, "at byte 0: the text ends"},
		{` `, "at byte 1: the text ends"},
		{`nul`, "at byte 0: not null"},
		{`tru e`, "not true"},
		{`{"a":1,"a":2}`, `the key "a" stands twice`},
		{`{"a":1,"b":2,"\u0061":3}`, `the key "a" stands twice`},
		{`{"a":1}{}`, "at byte 7: more text"},
		{`1 2`, "at byte 2: more text"},
		{`[1,]`, "a comma before ']'"},
		{`{"a":1,}`, "a comma before '}'"},
		{`[1 2]`, "expected ',' or ']'"},
		{`[1`, "expected ',' or ']'"},
		{`{"a"}`, "expected ':'"},
		{`{"a":}`, "starts no value"},
		{`{a:1}`, "expected a key in double quotes"},
		{`'a'`, "starts no value"},
		{`"abc`, "a string without end"},
		{`"abc\`, "a string without end"},
		{`"\x"`, "an invalid escape"},
		{`"\u12"`, "an invalid escape"},
		{`"\u+123"`, "an invalid escape"},
		{`"\ud800"`, "an invalid escape"},
		{`"\ude00\ud800"`, "an invalid escape"},
		{`"\ud800\u0041"`, "an invalid escape"},
		{"\"\xff\"", "at byte 1: invalid UTF-8"},
		{"\"a\xc3\"", "invalid UTF-8"},
		{"\"\xed\xa0\x80\"", "invalid UTF-8"},
		{"\"\\n\xff\"", "at byte 3: invalid UTF-8"},
		{"\"a\nb\"", "a control character"},
		{"\"a\x00b\"", `write \u0000`},
		{"\x00", "starts no value"},
		{"1\x00", "more text"},
		{"\ufeff1", "starts no value"},
		{`01`, "more text"}, {`+1`, "starts no value"}, {`.5`, "starts no value"}, {`1.`, "not a number"}, {`1e`, "not a number"},
		{`-`, "not a number"}, {`1e+`, "not a number"}, {`0x1`, "more text"}, {`NaN`, "starts no value"}, {`Infinity`, "starts no value"},
		{`1e400`, "out of range"}, {`-1e309`, "out of range"},
		{strings.Repeat("[", MaxDepth+1), "nested deeper than 1000"},
		{strings.Repeat(`{"a":`, 100_000), "nested deeper than 1000"},
		{"// x\n1", "starts no value"},
	}
	for _, test := range tests {
		_, err := Canonical([]byte(test.in))
		require.ErrorContains(t, err, test.want, "%.40q", test.in)
		require.Equal(t, CodeInvalid, err.(*workflow.Error).Code)
	}
}

// jsonValue generates values as encoding/json makes them.
func jsonValue(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), toAny[bool]), rapid.Map(rapid.Int64(), toAny[int64]),
		rapid.Map(rapid.Float64(), finite), rapid.Map(rapid.String(), valid), rapid.Map(rapid.StringMatching(`[a-c]{0,2}`), toAny[string]),
	)
	if depth == 0 {
		return leaf
	}
	inner := jsonValue(depth - 1)
	return rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(inner, 0, 4), toAny[[]any]),
		rapid.Map(rapid.MapOfN(rapid.Map(rapid.String(), func(s string) string { return valid(s).(string) }), inner, 0, 10), toAny[map[string]any]),
	)
}

func toAny[T any](v T) any { return v }

func finite(x float64) any {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0.5
	}
	return x
}

func valid(s string) any { return strings.ToValidUTF8(s, "?") }

// TestCanonicalProperties: canonical JSON is canonical, means the same as what it was made of, and survives decoding
// and encoding, with the texts at hand and without them.
func TestCanonicalProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := jsonValue(4).Draw(t, "value")
		text, err := json.MarshalIndent(v, "", "  ")
		require.NoError(t, err)
		got, err := Canonical(text)
		require.NoError(t, err)
		checkCanonical(t, text, got)
	})
}

func checkCanonical(t require.TestingT, text []byte, got workflow.Value) {
	again, err := Canonical(got)
	require.NoError(t, err)
	require.Equal(t, string(got), string(again), "canonical again")
	var want, have any
	require.NoError(t, json.Unmarshal(text, &want))
	require.NoError(t, json.Unmarshal(got, &have))
	require.Equal(t, want, have)

	decoded := decode(string(got), nil)
	p, bad := encode(decoded)
	require.Nil(t, bad)
	require.Equal(t, string(got), string(p.JSON), "as it was read")
	p, bad = encode(rebuilt(decoded))
	require.Nil(t, bad)
	require.Equal(t, string(got), string(p.JSON), "built anew")
}

// rebuilt is the same value without the texts it was decoded from.
func rebuilt(v any) any {
	switch v := v.(type) {
	case *list:
		out := &list{}
		for _, item := range v.all() {
			out.vals = append(out.vals, rebuilt(item))
		}
		return out
	case *object:
		out := &object{keys: v.keys}
		for i := range v.keys {
			out.vals = append(out.vals, rebuilt(v.at(i)))
		}
		return out
	}
	return v
}

// TestDecodeTakesAnyJSON: values should be canonical, but what is only valid is read as well.
func TestDecodeTakesAnyJSON(t *testing.T) {
	p, bad := encode(decode(` { "b" : [ 1 , 2.50 ] , "a" : "\u003c" } `, nil))
	require.Nil(t, bad)
	require.Equal(t, `{"a":"<","b":[ 1 , 2.50 ]}`, p.JSON.String())
	for _, text := range []string{``, `{`, `[1,]`, `{"a"}`, `[1`, `"a`, `nul`, `{"a":1,}`, `[1]x`, `Infinity`, `{1:2}`, `"\q"`} {
		require.PanicsWithValue(t, invalid{}, func() {
			defer func() {
				if _, ok := recover().(invalid); ok {
					panic(invalid{})
				}
			}()
			_, _ = encode(rebuilt(decode(text, nil)))
		}, text)
	}
}

// TestBrokenValue: a stored value that is no JSON is an error, not a crash.
func TestBrokenValue(t *testing.T) {
	act := NewActivation(func(string) (Binding, bool) { return OfValue(workflow.Value(`{"a":[1,}`)), true })
	e, issues := Compile("input.a[0]", workflow.Position{}, nil)
	require.Empty(t, issues)
	_, err := e.Eval(act)
	require.Equal(t, CodeInvalid, err.(*workflow.Error).Code)
}

func TestMarshal(t *testing.T) {
	v, err := Marshal(map[string]any{"b": 1.5, "a": []int{1}, "c": "<&>"})
	require.NoError(t, err)
	require.Equal(t, `{"a":[1],"b":1.5,"c":"<&>"}`, v.String())
	_, err = Marshal(func() {})
	require.Error(t, err)
	_, err = Marshal(map[string]any{"a": math.NaN()})
	require.Error(t, err)
}

func TestDoublesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64().Draw(t, "x")
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return
		}
		text := appendDouble(nil, x)
		back, ok := numberOf(string(text))
		require.True(t, ok)
		require.IsType(t, float64(0), back, "%s is no double", text)
		require.Equal(t, math.Float64bits(x), math.Float64bits(back.(float64)))
		require.True(t, json.Valid(text))
	})
}

func TestCheckSize(t *testing.T) {
	require.NoError(t, CheckSize(workflow.Inline(workflow.Value(`"abc"`)), 5))
	err := CheckSize(workflow.Inline(workflow.Value(`"abc"`)), 4)
	require.Equal(t, CodeTooLarge, err.(*workflow.Error).Code)
}

func TestDepthOfResults(t *testing.T) {
	deep := workflow.Value(strings.Repeat("[", MaxDepth-1) + strings.Repeat("]", MaxDepth-1))
	act := NewActivation(func(string) (Binding, bool) { return OfValue(deep), true })
	for src, ok := range map[string]bool{"x": true, "[x]": true, "[[x]]": false, "{'a': {'b': x}}": false, "[x[0]]": true} {
		e, issues := Compile(src, workflow.Position{}, nil)
		require.Empty(t, issues)
		_, err := e.Eval(act)
		if ok {
			require.NoError(t, err, src)
		} else {
			require.Equal(t, CodeRange, err.(*workflow.Error).Code, src)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"b":[1,2.0,1e3],"a":{"x":null,"é":"\ud83d\ude00"}}`, `[1,-0,0.1,"\u0000"]`, `{"a":1,"a":2}`, "\"\xff\"", testInput} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := Canonical(text)
		if err != nil {
			return
		}
		require.True(t, json.Valid(text))
		checkCanonical(t, text, got)
		require.False(t, bytes.ContainsAny(got, "\n\r\t"))
	})
}

func BenchmarkCanonical(b *testing.B) {
	var items []string
	for i := range 1000 {
		items = append(items, fmt.Sprintf(`{"sku": "A-%d", "qty": %d, "price": %d.5, "name": "Ärtiges <Ding> \"%d\""}`, i, i, i, i))
	}
	text := []byte("[" + strings.Join(items, ",\n") + "]")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Canonical(text); err != nil {
			b.Fatal(err)
		}
	}
}
