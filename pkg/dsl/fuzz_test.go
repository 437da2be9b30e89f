package dsl

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// FuzzCompile holds for any bytes: no panic, the same result each time, bounded diagnostics at places that exist, a definition
// exactly if there is no error, and whatever the schema of the language refuses is refused.
func FuzzCompile(f *testing.F) {
	for _, pattern := range []string{"testdata/valid/*.yaml", "testdata/refused/*.yaml"} {
		files, err := filepath.Glob(pattern)
		require.NoError(f, err)
		for _, file := range files {
			data, err := os.ReadFile(file)
			require.NoError(f, err)
			f.Add(data)
		}
	}
	schema := compiledSchema(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		def, diagnostics := Compile("fuzz.yaml", data)
		again, repeated := Compile("fuzz.yaml", data)
		require.Equal(t, diagnostics, repeated)
		require.LessOrEqual(t, len(diagnostics), maxDiagnostics+1)
		requirePlaces(t, diagnostics, data)
		var shown strings.Builder
		require.NoError(t, Render(&shown, diagnostics, data))
		if def == nil {
			require.Nil(t, again)
			require.True(t, hasError(diagnostics))
			return
		}
		require.False(t, hasError(diagnostics))
		require.Equal(t, Hash(def), Hash(again))
		form, err := json.Marshal(def)
		require.NoError(t, err)
		require.True(t, utf8.Valid(form))
		s := load("fuzz.yaml", data, newSink("fuzz.yaml"))
		require.NoError(t, schema.Validate(s.root.plain()))
	})
}

func hasError(diagnostics []Diagnostic) bool {
	for _, d := range diagnostics {
		if d.Severity == SeverityError {
			return true
		}
	}
	return false
}

// requirePlaces holds each diagnostic to a place in the document.
func requirePlaces(t require.TestingT, diagnostics []Diagnostic, data []byte) {
	sheet := newSheet(strings.TrimPrefix(string(data), "\ufeff"))
	for _, d := range diagnostics {
		require.NotEmpty(t, d.Code, d)
		require.NotEmpty(t, d.Message, d)
		require.NotEmpty(t, d.Suggestion, "what to write instead: %s", d)
		require.True(t, utf8.ValidString(d.Message) || !utf8.Valid(data), d)
		if d.Code == "dsl/too-many" {
			continue
		}
		require.Positive(t, d.Line, d)
		require.Positive(t, d.Column, d)
		require.LessOrEqual(t, d.Line, len(sheet.lines)+1, d)
		if d.Line <= len(sheet.lines) && utf8.Valid(data) {
			require.LessOrEqual(t, d.Column, utf8.RuneCountInString(sheet.line(d.Line))+1, d)
		}
	}
}

// The same for documents that are nearly right, which bytes at random hardly ever are.
func TestCompileOfNearlyRightDocuments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		document := randomDocument(t)
		for range rapid.IntRange(0, 3).Draw(t, "mutations") {
			mutate(t, document)
		}
		data := marshal(t, document)
		def, diagnostics := Compile("random.yaml", data)
		again, repeated := Compile("random.yaml", data)
		require.Equal(t, diagnostics, repeated)
		require.Equal(t, def, again)
		require.Equal(t, def == nil, hasError(diagnostics))
		requirePlaces(t, diagnostics, data)
	})
}
