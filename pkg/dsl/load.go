package dsl

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Bounds of one document. Each is checked before the work that it bounds is done.
const (
	maxBytes  = 2 << 20   // of the document, and again of what its aliases expand to
	maxDepth  = 100       // lists and mappings inside each other
	maxKey    = 256       // bytes of one key
	maxScalar = 256 << 10 // bytes of one text
	// maxMarks bounds what the YAML library may have to hold in memory: it keeps about 500 bytes for each mark of
	// punctuation or line of a document that is one flow collection, as JSON is.
	maxMarks = 300_000
)

// load reads one YAML 1.2 or JSON document. It returns nil, with a diagnostic, where there is no tree to go on with.
func load(file string, data []byte, k *sink) *source {
	s := &source{file: file, root: &node{at: workflow.Position{Line: 1, Column: 1}}, text: newSheet("")}
	k.source = s
	if len(data) > maxBytes {
		k.errorf("", "dsl/too-large", "split the workflow: `workflow` steps start others",
			"the document has %d bytes, more than %d", len(data), maxBytes)
		return nil
	}
	if marks := marksIn(data); marks > maxMarks {
		k.errorf("", "dsl/too-large", "split the workflow: `workflow` steps start others",
			"the document has %d lines and marks of punctuation, more than %d", marks, maxMarks)
		return nil
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	s.text = newSheet(string(data))
	if !s.readable(k) {
		return nil
	}
	document := s.compose(s.prepared(data), k)
	if document == nil {
		return nil
	}
	b := treeBuilder{source: s, sink: k, done: map[*yaml.Node]*node{}, budget: maxBytes}
	s.root = b.build(document, "", 0)
	s.scalars = nil // of the tree that stood there before
	return s
}

// marksIn counts the bytes that can start a value of YAML or end one.
func marksIn(data []byte) int {
	marks, quotes := 0, 0
	for _, c := range data {
		switch c {
		case '\n', '\r', ',', ':', '[', ']', '{', '}', '?':
			marks++
		case '"', '\'':
			quotes++
		}
	}
	return marks + quotes/2
}

// readable refuses what no YAML document may hold: bytes that are not UTF-8, and control characters.
func (s *source) readable(k *sink) bool {
	data := s.text.data
	for i := 0; i < len(data); {
		if c := data[i]; c >= 0x20 && c < 0x7f || c == '\n' || c == '\r' || c == '\t' {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(data[i:])
		switch {
		case r == utf8.RuneError && size <= 1:
			k.errorAt(s.text.position(i), 1, "dsl/encoding", "save the file as UTF-8",
				"byte %d (0x%02X) is not UTF-8", i, data[i])
			return false
		case r < 0x20 || r >= 0x7f && r < 0xa0 && r != 0x85 || r == 0xfeff || r == 0xfffe || r == 0xffff:
			k.errorAt(s.text.position(i), 1, "dsl/control-character", `in a double-quoted string, write an escape such as "\u0007"`,
				"the control character U+%04X cannot stand in a document", r)
			return false
		}
		i += size
	}
	return true
}

var (
	// yaml12 finds a version directive; the library knows only 1.1 in it, though it reads 1.2.
	yaml12 = regexp.MustCompile(`\A((?:[ \t]*(?:#[^\r\n]*)?\r?\n)*%YAML[ \t]+)1\.2`)
	// surrogates finds characters that JSON escapes as two halves, and the backslashes before them.
	surrogates = regexp.MustCompile(`(\\*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})`)
)

// prepared returns a document as the library can read it. Where that makes a line shorter, shifts tells original of it.
func (s *source) prepared(data []byte) []byte {
	if bytes.Contains(data, []byte("%YAML")) {
		data = yaml12.ReplaceAll(data, []byte("${1}1.1"))
	}
	if !bytes.Contains(data, []byte(`\ud`)) && !bytes.Contains(data, []byte(`\uD`)) || !json.Valid(data) {
		return data
	}
	var out []byte
	last := 0
	for _, m := range surrogates.FindAllSubmatchIndex(data, -1) {
		if (m[3]-m[2])%2 == 1 { // an escaped backslash and plain text
			continue
		}
		high, _ := strconv.ParseUint(string(data[m[4]:m[5]]), 16, 16)
		low, _ := strconv.ParseUint(string(data[m[6]:m[7]]), 16, 16)
		out = append(out, data[last:m[3]]...)
		out = fmt.Appendf(out, `\U%08x`, utf16.DecodeRune(rune(high), rune(low)))
		last = m[1]
		s.shifts = append(s.shifts, s.text.position(m[1]))
	}
	return append(out, data[last:]...)
}

// original returns the place of a node in the document as it is written.
func (s *source) original(y *yaml.Node) workflow.Position {
	return s.unshift(workflow.Position{Line: y.Line, Column: y.Column})
}

// unshift moves a place behind surrogates, each of which the library saw two characters shorter.
func (s *source) unshift(at workflow.Position) workflow.Position {
	i, _ := slices.BinarySearchFunc(s.shifts, at.Line, func(p workflow.Position, line int) int { return cmp.Compare(p.Line, line) })
	for ; i < len(s.shifts) && s.shifts[i].Line == at.Line && at.Column+2 >= s.shifts[i].Column; i++ {
		at.Column += 2
	}
	return at
}

// compose lets the YAML library parse one document and refuses a second one.
func (s *source) compose(data []byte, k *sink) *yaml.Node {
	deep := false
	limit := loaderlimits.New(loaderlimits.AliasNone(), loaderlimits.DepthFunc(func(depth int, _ *yaml.DepthContext) error {
		if depth > maxDepth {
			deep = true
			return errDepth
		}
		return nil
	}))
	loader, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithPlugin(limit), yaml.WithUniqueKeys(false))
	if err != nil {
		k.errorf("", "dsl/syntax", "", "%s", err)
		return nil
	}
	var document, second yaml.Node
	err = next(loader, &document)
	switch {
	case err == io.EOF || err == nil && blank(&document):
		k.errorf("", "dsl/empty", "start with `dsl: wovyr/v1`, `name` and `steps`", "the document is empty")
		return nil
	case deep:
		k.errorAt(s.unshift(errorMark(err)), 1, "dsl/too-deep", "split the workflow: `workflow` steps start others",
			"more than %d lists and mappings inside each other", maxDepth)
		return nil
	case err != nil:
		s.syntaxError(err, k)
		return nil
	}
	if err = next(loader, &second); err != io.EOF {
		if err != nil {
			s.syntaxError(err, k)
			return nil
		}
		k.errorAt(s.original(&second), 0, "dsl/many-documents", "write one file for each workflow",
			"the file holds more than one document")
		return nil
	}
	return document.Content[0]
}

var errDepth = errors.New("too deep")

// next reads one document. The library panics on some malformed input; here that is one more syntax error.
func next(loader *yaml.Loader, document *yaml.Node) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = errors.New("the document cannot be read")
		}
	}()
	return loader.Load(document)
}

func blank(document *yaml.Node) bool {
	return len(document.Content) == 0 ||
		document.Content[0].Kind == yaml.ScalarNode && document.Content[0].Tag == "!!null" && document.Content[0].Value == ""
}

func errorMark(err error) workflow.Position {
	if e := (*yaml.LoadError)(nil); errors.As(err, &e) {
		if e.Mark.Line > 0 {
			return workflow.Position{Line: e.Mark.Line, Column: e.Mark.Column}
		}
		return workflow.Position{Line: e.ContextMark.Line, Column: e.ContextMark.Column}
	}
	return workflow.Position{Line: 1, Column: 1}
}

// syntaxError reports what the YAML library found, with a way out for the usual causes.
func (s *source) syntaxError(err error, k *sink) {
	message, at := err.Error(), s.unshift(errorMark(err))
	if e := (*yaml.LoadError)(nil); errors.As(err, &e) {
		message = e.Message
		if e.ContextMsg != "" {
			message = e.ContextMsg + ": " + message
		}
		if strings.Contains(e.Message, "end of stream") && e.ContextMark.Line > 0 { // what is not closed stands where it was opened
			at = s.unshift(workflow.Position{Line: e.ContextMark.Line, Column: e.ContextMark.Column})
		}
	}
	line := s.text.line(at.Line)
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	suggestion := "check the indentation and the quotes around this place"
	switch {
	case strings.Contains(indent, "\t"):
		suggestion = "indent with spaces; YAML allows no tabs there"
	case strings.Contains(message, "quoted scalar") && strings.Contains(message, "end of stream"):
		suggestion = "close the quote that opens here"
	case strings.Contains(line, "${"):
		suggestion = "put the expression in single quotes: '${ … }'"
	case strings.Contains(message, "mapping values are not allowed"):
		suggestion = "put a text that holds `: ` in quotes"
	case strings.Contains(message, "unknown anchor"):
		suggestion = "define the anchor with `&name` before it is used"
	case strings.Contains(message, "undefined tag handle"):
		suggestion = "leave the tag out"
	}
	k.errorAt(at, 0, "dsl/syntax", suggestion, "this is not YAML: %s", clipTo(message, 200))
}

// clip shortens a text from the document for a message.
func clip(s string) string { return clipTo(s, 60) }

func clipTo(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit]) + "…"
}
