package dsl

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/workflow"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

// The golden corpus: documents of testdata/valid with their compiled forms, of testdata/refused with their diagnostics,
// and the hostile ones that hostile makes, whose diagnostics are in testdata/hostile. Read a golden file's diff
// before you commit it: a wrong place or a message that leads nowhere is a bug.

func documentsIn(t *testing.T, dir string) []string {
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func requireGolden(t *testing.T, file, got string) {
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run the test with -update to write it")
	require.Equal(t, string(want), got, "%s differs; run the test with -update if that is right", file)
}

func compileFile(t *testing.T, file string) (*workflow.Definition, []Diagnostic, []byte) {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	def, diagnostics := Compile(filepath.Base(file), data)
	return def, diagnostics, data
}

func rendered(t *testing.T, diagnostics []Diagnostic, data []byte) string {
	var b strings.Builder
	require.NoError(t, Render(&b, diagnostics, data))
	return b.String()
}

func TestValidDocuments(t *testing.T) {
	for _, file := range documentsIn(t, "valid") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			def, diagnostics, data := compileFile(t, file)
			require.NotNil(t, def, rendered(t, diagnostics, data))
			if !strings.HasPrefix(filepath.Base(file), "warn-") {
				require.Empty(t, diagnostics, rendered(t, diagnostics, data))
			}
			var form bytes.Buffer
			for _, d := range diagnostics {
				require.Equal(t, SeverityWarning, d.Severity)
				requireHelpful(t, d, data)
				fmt.Fprintf(&form, "// %s\n// = %s\n", d, d.Suggestion)
			}
			e := json.NewEncoder(&form)
			e.SetEscapeHTML(false)
			e.SetIndent("", "  ")
			require.NoError(t, e.Encode(def))
			requireGolden(t, strings.TrimSuffix(file, ".yaml")+".golden.json", form.String())
		})
	}
}

func TestRefusedDocuments(t *testing.T) {
	for _, file := range documentsIn(t, "refused") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			def, diagnostics, data := compileFile(t, file)
			require.Nil(t, def)
			require.NotEmpty(t, diagnostics)
			for _, d := range diagnostics {
				requireHelpful(t, d, data)
			}
			requireGolden(t, strings.TrimSuffix(file, ".yaml")+".golden.txt", rendered(t, diagnostics, data))
		})
	}
}

// requireHelpful holds one diagnostic to what all of them promise: a place inside the document, a code, a message in the
// house's form, and a way out.
func requireHelpful(t *testing.T, d Diagnostic, data []byte) {
	about := d.String()
	lines := strings.Split(strings.TrimPrefix(string(data), "\ufeff"), "\n")
	require.True(t, 1 <= d.Line && d.Line <= len(lines)+1, about)
	line := ""
	if d.Line <= len(lines) {
		line = strings.TrimSuffix(lines[d.Line-1], "\r")
	}
	length := utf8.RuneCountInString(line)
	require.True(t, 1 <= d.Column && d.Column <= length+1, "%s: the line has %d characters", about, length)
	if d.EndColumn != 0 {
		require.True(t, d.Column < d.EndColumn && d.EndColumn <= length+2, "%s: ends at %d of %d", about, d.EndColumn, length)
	}
	require.Regexp(t, `^dsl/[a-z-]+$`, d.Code)
	require.NotEmpty(t, d.Message, about)
	require.NotRegexp(t, `[.!\s]$|^\s|%!|\n`, d.Message, about)
	require.NotEmpty(t, d.Suggestion, about)
	require.NotRegexp(t, `[!\s]$|^\s|%!|\n`, d.Suggestion, about)
	require.Less(t, len(d.Message), 400, about)
}

// hostile are documents that are too large to keep, by name.
var hostile = map[string]func() []byte{
	"ten-megabytes":    func() []byte { return bytes.Repeat([]byte("# nothing\n"), 1<<20) },
	"deep-lists":       func() []byte { return []byte("dsl: " + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)) },
	"deep-maps":        func() []byte { return []byte(strings.Repeat("{a: ", 10_000) + strings.Repeat("}", 10_000)) },
	"deep-indentation": func() []byte { return deepIndentation(10_000) },
	"nul-byte":         func() []byte { return []byte("dsl: wovyr/v1\nname: a\x00b\n") },
	"escape-character": func() []byte { return []byte("dsl: wovyr/v1\nname: 'a\x1b[31m'\n") },
	"not-utf-8":        func() []byte { return []byte("dsl: wovyr/v1\nname: caf\xe9\n") },
	"utf-16":           func() []byte { return []byte("\xff\xfed\x00s\x00l\x00") },
	"long-key":         func() []byte { return []byte(strings.Repeat("k", 1000) + ": 1\n") },
	"long-text":        func() []byte { return minimal("with: { x: '" + strings.Repeat("x", 300_000) + "' }") },
	"long-step-name": func() []byte {
		return []byte("dsl: wovyr/v1\nname: a\nsteps:\n  " + strings.Repeat("s", 200) + ": { function: a }\n")
	},
	"too-many-steps":  func() []byte { return manySteps(10_001) },
	"bodies-too-deep": func() []byte { return nestedBodies(17) },
	"too-many-faults": func() []byte {
		return []byte("dsl: wovyr/v1\nname: a\nsteps:\n" + repeat(300, "  s%d: { functoin: a }\n"))
	},
	"alias-bomb":      func() []byte { return aliasBomb(12) },
	"long-need-cycle": func() []byte { return needCycle(2_000) },
	"long-list":       func() []byte { return minimal("needs: [ " + repeat(1_001, "a%d, ") + " ]") },
	"long-expression": func() []byte { return minimal("when: " + strings.Repeat("1 + ", 50_000) + "1 > 0") },
	"nested-expression": func() []byte {
		return minimal("when: " + strings.Repeat("(", 5_000) + "true" + strings.Repeat(")", 5_000))
	},
	"expensive-macros": func() []byte { return minimal("when: " + macros(8)) },
	"deep-schema":      func() []byte { return deepSchema(90) },
	"schema-ref-to-self": func() []byte {
		return []byte("dsl: wovyr/v1\nname: a\ninput: { schema: { $ref: '#' } }\nsteps: { a: { value: '${ input + 1 }', functoin: x } }\n")
	},
	"carriage-returns": func() []byte { return []byte("dsl: wovyr/v1\r\nname: a\r\nsteps:\r\n  a: { functoin: a }\r\n") },
	"one-long-line": func() []byte {
		return []byte("{dsl: wovyr/v1, name: a, steps: {" + repeat(300, "s%d: {function: a}, ") + "last: {functoin: a}}}")
	},
	"regular-expression": func() []byte { return minimal(`when: '"a".matches("(((a{1,100}){1,100}){1,100}){1,100}")'`) },
}

func minimal(words string) []byte {
	return []byte("dsl: wovyr/v1\nname: a\nsteps:\n  a:\n    function: a\n    " + words + "\n")
}

func repeat(n int, form string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, form, i)
	}
	return b.String()
}

func deepIndentation(n int) []byte {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i%200) + "a:\n")
	}
	return []byte(b.String())
}

func manySteps(n int) []byte {
	return []byte("dsl: wovyr/v1\nname: a\nsteps:\n" + repeat(n, "  s%d: { function: a }\n"))
}

func nestedBodies(n int) []byte {
	return []byte("dsl: wovyr/v1\nname: a\nsteps: { a: " + strings.Repeat("{ group: { steps: { a: ", n) + "{ function: a }" + strings.Repeat(" } } }", n) + " }\n")
}

func aliasBomb(levels int) []byte {
	var b strings.Builder
	b.WriteString("dsl: wovyr/v1\nname: a\nsteps:\n  a:\n    function: a\n    with:\n      l0: &l0 [ x, x, x, x, x, x, x, x, x, x ]\n")
	for i := 1; i < levels; i++ {
		fmt.Fprintf(&b, "      l%d: &l%d [ %s ]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d, ", i-1), 10), ", "))
	}
	return []byte(b.String())
}

func needCycle(n int) []byte {
	var b strings.Builder
	b.WriteString("dsl: wovyr/v1\nname: a\nsteps:\n")
	for i := range n {
		fmt.Fprintf(&b, "  s%d: { needs: [ s%d ], function: a }\n", i, (i+1)%n)
	}
	return []byte(b.String())
}

func macros(n int) string {
	s := "true"
	for i := range n {
		s = fmt.Sprintf("range(0, 1000).all(x%d, %s)", i, s)
	}
	return s
}

func deepSchema(n int) []byte {
	return []byte("dsl: wovyr/v1\nname: a\ninput: { schema: " + strings.Repeat("{ properties: { p: ", n/2) + "{ type: nothing }" + strings.Repeat(" } }", n/2) + " }\nsteps: { a: { function: a } }\n")
}

func TestHostileDocuments(t *testing.T) {
	for name, build := range hostile {
		t.Run(name, func(t *testing.T) {
			data := build()
			def, diagnostics := Compile(name, data)
			require.Nil(t, def)
			require.NotEmpty(t, diagnostics)
			const shown = 5
			more := ""
			if len(diagnostics) > shown {
				more = fmt.Sprintf("\n… and %d more, the last of them:\n\n%s", len(diagnostics)-shown, rendered(t, diagnostics[len(diagnostics)-1:], data))
				diagnostics = diagnostics[:shown]
			}
			requireGolden(t, filepath.Join("testdata", "hostile", name+".golden.txt"), rendered(t, diagnostics, data)+more)
		})
	}
}

// TestCorpusCoversTheLanguage: each word stands in a valid document, and each option of each choice; each reserved word stands
// in a refused one.
func TestCorpusCoversTheLanguage(t *testing.T) {
	seen := map[string]bool{}
	for _, dir := range []string{"valid", "refused"} {
		for _, file := range documentsIn(t, dir) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			if s := load(file, data, newSink(file)); s != nil {
				markWords(workflowShape, s.root, dir+" ", seen)
			}
		}
	}
	var missing []string
	walkObjects(workflowShape, func(o *object) {
		for _, w := range o.words {
			dir := "valid "
			if w.reserved != "" {
				dir = "refused "
			}
			if !seen[dir+o.name+"."+w.name] {
				missing = append(missing, dir+o.name+"."+w.name)
			}
			c, ok := w.value.(*choice)
			if !ok {
				continue
			}
			for _, option := range c.options {
				if key := "valid " + o.name + "." + w.name + "=" + option; !seen[key] {
					missing = append(missing, key)
				}
			}
		}
	})
	require.Empty(t, missing, "write a document for each")
}

// markWords walks a document and the table together.
func markWords(s shape, n *node, where string, seen map[string]bool) {
	switch s := s.(type) {
	case *object:
		for _, e := range n.entries {
			if w := s.word(e.key.text); w != nil {
				seen[where+s.name+"."+w.name] = true
				seen[where+s.name+"."+w.name+"="+e.value.text] = true
				markWords(w.value, e.value, where, seen)
			}
		}
	case branches:
		markWords(s.list, n, where, seen)
	case *list:
		for _, item := range n.items {
			markWords(s.item, item, where, seen)
		}
	case *dictionary:
		for _, e := range n.entries {
			markWords(s.value, e.value, where, seen)
		}
	case *variants:
		if s.list != nil && n.kind == kindList {
			markWords(s.list, n, where, seen)
		}
		if s.object != nil && n.kind == kindObject {
			markWords(s.object, n, where, seen)
		}
	case body:
		markWords(s.steps(), n, where, seen)
	case assignment:
		if n.has("reduce") {
			markWords(reduceShape, n, where, seen)
		}
	}
}

// TestEveryCodeHasAnExample: each code in the package's source stands in a golden file.
func TestEveryCodeHasAnExample(t *testing.T) {
	var goldens strings.Builder
	for _, pattern := range []string{"valid/*.golden.json", "refused/*.golden.txt", "hostile/*.golden.txt"} {
		files, err := filepath.Glob(filepath.Join("testdata", pattern))
		require.NoError(t, err)
		for _, file := range files {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			goldens.Write(data)
		}
	}
	var missing []string
	for _, code := range codesInSource(t) {
		if !strings.Contains(goldens.String(), "["+code+"]") {
			missing = append(missing, code)
		}
	}
	require.Empty(t, missing, "write a document that provokes each")
}

var codePattern = regexp.MustCompile(`^dsl/[a-z-]+$`)

func codesInSource(t *testing.T) (codes []string) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		ast.Inspect(tree, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil && codePattern.MatchString(s) && !slices.Contains(codes, s) {
					codes = append(codes, s)
				}
			}
			return true
		})
	}
	require.NotEmpty(t, codes)
	return codes
}
