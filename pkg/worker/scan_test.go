package worker

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// scanned is the text of a value as the scanner passes it on, whole.
func scanned(r io.Reader) (string, error) {
	var out bytes.Buffer
	s := newScanner(r)
	err := s.value(func(text []byte) error { out.Write(text); return nil })
	if err == nil {
		err = s.end()
	}
	return out.String(), err
}

// loose are texts that the scanner takes and expr.Canonical does not: to see that takes the whole value.
func loose(err error) bool {
	return strings.Contains(err.Error(), "stands twice") || strings.Contains(err.Error(), "out of range")
}

// scanTexts are texts that are JSON, nearly JSON, and not.
var scanTexts = []string{
	`null`, ` true `, `false`, `0`, `-0`, `-1.5e+10`, `1E5`, `""`, `"\u00e9\"\\\/\b\f\n\r\t"`, `"\ud83d\ude00"`, `[]`, `{}`, "[ 1 ,\n{\t\"a\" : [ ] } ]", `{"a":{"b":[{}]},"c":0}`,
	``, ` `, `nul`, `nulll`, `tru`, `+1`, `01`, `1.`, `.5`, `1e`, `-`, `1 2`, `1,`, `"`, `"\`, `"\u12"`, `"\x"`, `"\ud83d"`, `"\ud83d\u0041"`, `"\ude00"`, "\"a\nb\"", "\"\xff\"", "\"\xc3\"", `[`, `[1`, `[1,`, `[1,]`, `[,1]`,
	`[1 2]`, `]`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `{a:1}`, `{1:2}`, `{"a" 1}`, `{"a":1 "b":2}`, `{"a":1}}`, `[}`, `{]`, `{"a":1,"a":2}`, `1e999`, "\ufeff1", "\x00",
	strings.Repeat("[", expr.MaxDepth) + strings.Repeat("]", expr.MaxDepth), strings.Repeat("[", expr.MaxDepth+1) + strings.Repeat("]", expr.MaxDepth+1),
	strings.Repeat(`{"a":`, 1_000_000),
}

// agree requires that the scanner takes what expr.Canonical takes, and passes it on unchanged.
func agree(t testing.TB, text string) {
	want, bad := expr.Canonical([]byte(text))
	got, err := scanned(strings.NewReader(text))
	if err != nil {
		var typed *workflow.Error
		require.ErrorAs(t, err, &typed, "%.200q", text)
		require.Equal(t, "activity.output", typed.Code)
		require.Error(t, bad, "%.200q: %v", text, err)
		return
	}
	if bad != nil {
		require.True(t, loose(bad), "%.200q: %v", text, bad)
		return
	}
	again, err := expr.Canonical([]byte(got))
	require.NoError(t, err)
	require.Equal(t, want, again, "%.200q", text)
}

func TestScannerTakesWhatIsJSON(t *testing.T) {
	for _, text := range scanTexts {
		agree(t, text)
	}
}

func FuzzScanner(f *testing.F) {
	for _, text := range scanTexts[:len(scanTexts)-1] {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { agree(t, text) })
}

// TestScannerAcrossBuffers: whatever the source returns at a time, and wherever the buffer ends, the result is the same.
func TestScannerAcrossBuffers(t *testing.T) {
	part := `"日本\u00e9\ud83d\ude00é\n\\\"",-12.5e-7,true,{"k\"é":null},`
	for shift := range 40 {
		text := "[" + strings.Repeat(" ", shift) + strings.Repeat(part, scanBuffer/len(part)+2) + "0]"
		want, err := scanned(strings.NewReader(text))
		require.NoError(t, err)
		require.Equal(t, strings.ReplaceAll(text, " ", ""), want)
		for _, source := range []io.Reader{iotest.HalfReader(strings.NewReader(text)), iotest.DataErrReader(strings.NewReader(text)), iotest.OneByteReader(strings.NewReader(text))} {
			got, err := scanned(source)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	}
	_, err := scanned(io.MultiReader(strings.NewReader(`["abc`), iotest.ErrReader(io.ErrNoProgress)))
	require.ErrorIs(t, err, io.ErrNoProgress, "an error of the source is its own")
}

// endless is a source of one JSON value that is made while it is read.
type endless struct {
	head, body, tail string
	n                int // how often body comes
	at               int
	left             string
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left == "" {
		switch {
		case e.at == 0:
			e.left = e.head
		case e.at <= e.n:
			e.left = e.body
		case e.at == e.n+1:
			e.left = e.tail
		default:
			return 0, io.EOF
		}
		e.at++
		if e.left == "" {
			return 0, nil
		}
	}
	n := copy(p, e.left)
	e.left = e.left[n:]
	return n, nil
}

const large = 48 << 20

// largeSources are values of 48 MB of each kind.
func largeSources() map[string]*endless {
	line := strings.Repeat("0123456789abcdef", 64)
	return map[string]*endless{
		"a string":         {head: `"`, body: line, tail: `"`, n: large / len(line)},
		"a list":           {head: `[0`, body: `,{"id":123456,"name":"` + line + `","tags":["a","b"]}`, tail: `]`, n: large / len(line)},
		"an object":        {head: `{"a":1,"b":[`, body: `"` + line + `",`, tail: `7],"c":{"d":"end"}}`, n: large / len(line)},
		"a number":         {head: `1`, body: strings.Repeat("0", 1024), n: large / 1024},
		"space":            {head: `{"a":1`, body: strings.Repeat(" ", 1024), tail: `}`, n: large / 1024},
		"a string therein": {head: `{"a":{"b":"`, body: line, tail: `"},"c":{"d":"end"}}`, n: large / len(line)},
	}
}

// heapAfter is how much more the heap holds while f runs than before, at most, as seen by calls of the function that f gets.
func heapGrowth(f func(look func())) int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before, most := int64(m.HeapAlloc), int64(0)
	f(func() {
		runtime.ReadMemStats(&m)
		most = max(most, int64(m.HeapAlloc)-before)
	})
	return most
}

// watched looks at the heap while it is read.
type watched struct {
	io.Reader
	look func()
	n    int
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if w.n += n; w.n > 4<<20 {
		w.n = 0
		w.look()
	}
	return n, err
}

// TestLargeValuesPassInBoundedMemory: any size of any shape is reduced, and parts of it read, in a few megabytes.
func TestLargeValuesPassInBoundedMemory(t *testing.T) {
	uses := []workflow.Use{{Path: []string{}, Pass: true}, {Path: []string{"a", "b"}, Pass: true}, {Path: []string{"c", "d"}}, {Path: []string{"7", "id"}}}
	for name, source := range largeSources() { // order-free: each is for itself
		t.Run(name, func(t *testing.T) {
			again := *source
			most := heapGrowth(func(look func()) {
				_, err := reduce(&watched{Reader: source, look: look}, uses)
				if name == "a number" {
					require.ErrorContains(t, err, "payload.too_large", "its digits are all that could be known of it")
				} else {
					require.NoError(t, err)
				}
			})
			require.Less(t, most, int64(maxReduced+16<<20))
			most = heapGrowth(func(look func()) {
				part := newPartReader(io.NopCloser(&watched{Reader: &again, look: look}), []string{"c", "d"})
				text, err := io.ReadAll(part)
				require.NoError(t, err)
				require.Contains(t, []string{`null`, `"end"`}, string(text))
				require.NoError(t, part.Close())
			})
			require.Less(t, most, int64(16<<20))
		})
	}
}

// TestReducedIsBounded: what expressions look at is kept up to a limit, and beyond it is an error that a workflow can catch.
func TestReducedIsBounded(t *testing.T) {
	sources := largeSources()
	refused := map[string]workflow.Use{
		"a string": {}, "a list": {}, "an object": {Path: []string{"b"}}, "a string therein": {Path: []string{"a", "b"}, Size: true},
	}
	for name, use := range refused { // order-free: each is for itself
		_, err := reduce(sources[name], []workflow.Use{use})
		var typed *workflow.Error
		require.ErrorAs(t, err, &typed, name)
		require.Equal(t, "payload.too_large", typed.Code, name)
	}
	list := largeSources()["a list"]
	text, err := reduce(list, []workflow.Use{{Size: true}, {Path: []string{"3", "id"}}})
	require.NoError(t, err)
	value, err := expr.Canonical(text)
	require.NoError(t, err)
	known, err := expr.KnownParts(value, []workflow.Use{{Size: true}, {Path: []string{"3", "id"}}}, 1000)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf(`{"/3/id":123456,"size":{"":["list",%d]}}`, list.n+1), known.String())
}
