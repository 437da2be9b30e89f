package flowtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"

	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Bounds of a test file.
const (
	maxBytes = 4 << 20
	maxDepth = 100
)

// parser reads one test file and collects all that is wrong with it, each with its place.
type parser struct {
	file string
	list []dsl.Diagnostic
}

func (p *parser) errorf(n *yaml.Node, code, suggestion, format string, args ...any) {
	d := dsl.Diagnostic{File: p.file, Code: code, Severity: dsl.SeverityError, Message: fmt.Sprintf(format, args...), Suggestion: suggestion}
	if n != nil {
		d.Line, d.Column = n.Line, n.Column
		if n.Kind == yaml.ScalarNode && !strings.Contains(n.Value, "\n") {
			d.EndColumn = n.Column + len([]rune(n.Value))
		}
	}
	p.list = append(p.list, d)
}

// compose lets the YAML library read one document; nil if there is none.
func (p *parser) compose(data []byte) *yaml.Node {
	start := &yaml.Node{Line: 1, Column: 1}
	if len(data) > maxBytes {
		p.errorf(start, "test/too-large", "split the file", "the file has %d bytes, more than %d", len(data), maxBytes)
		return nil
	}
	limit := loaderlimits.New(loaderlimits.AliasNone(), loaderlimits.DepthFunc(func(depth int, _ *yaml.DepthContext) error {
		if depth > maxDepth {
			return fmt.Errorf("more than %d lists and mappings inside each other", maxDepth)
		}
		return nil
	}))
	loader, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithPlugin(limit), yaml.WithUniqueKeys(false))
	if err != nil {
		p.errorf(start, "test/syntax", "", "%s", err)
		return nil
	}
	var doc yaml.Node
	switch err := next(loader, &doc); {
	case err == io.EOF || err == nil && len(doc.Content) == 0:
		p.errorf(start, "test/empty", "start with `tests:`, one entry a case", "the file is empty")
	case err != nil:
		p.syntax(err)
	default:
		return doc.Content[0]
	}
	return nil
}

// next reads one document. The library panics on some malformed input; here that is one more syntax error.
func next(loader *yaml.Loader, document *yaml.Node) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = errors.New("the document cannot be read")
		}
	}()
	return loader.Load(document)
}

func (p *parser) syntax(err error) {
	at, message := &yaml.Node{Line: 1, Column: 1}, err.Error()
	if e := (*yaml.LoadError)(nil); errors.As(err, &e) {
		message = e.Message
		for _, mark := range []yaml.Mark{e.Mark, e.ContextMark} {
			if mark.Line > 0 {
				at.Line, at.Column = mark.Line, mark.Column
				break
			}
		}
	}
	p.errorf(at, "test/syntax", "check the indentation and the quotes around this place", "this is not YAML: %s", message)
}

// word is one key that a mapping may have, and what takes its value.
type word struct {
	name string
	take func(key, value *yaml.Node)
}

// mapping reads a mapping that has these words and no others. what names it in messages.
func (p *parser) mapping(n *yaml.Node, what string, words ...word) {
	names := make([]string, len(words))
	for i, w := range words {
		names[i] = w.name
	}
	p.entries(n, what, func(key, value *yaml.Node) {
		i := slices.Index(names, key.Value)
		if i < 0 {
			p.errorf(key, "test/unknown-word", p.instead(key.Value, names), "`%s` is not a word of %s", key.Value, what)
			return
		}
		words[i].take(key, value)
	})
}

// entries reads a mapping with keys of the author's choice. A key that stands twice is refused.
func (p *parser) entries(n *yaml.Node, what string, take func(key, value *yaml.Node)) {
	n = resolved(n)
	if n.Kind != yaml.MappingNode {
		p.errorf(n, "test/kind", "write `key: value` lines", "%s is a mapping, not %s", what, kindOf(n))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := resolved(n.Content[i]), resolved(n.Content[i+1])
		if key.Kind != yaml.ScalarNode {
			p.errorf(key, "test/kind", "write a text", "a key of %s is a text, not %s", what, kindOf(key))
			continue
		}
		if seen[key.Value] {
			p.errorf(key, "test/twice", "leave one of them out", "`%s` stands twice in %s", key.Value, what)
			continue
		}
		seen[key.Value] = true
		take(key, value)
	}
}

// resolved follows an alias. The loader has none that lead in circles.
func resolved(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "a boolean"
	}
	return "a text"
}

// instead suggests the words that could have been meant.
func (p *parser) instead(got string, words []string) string {
	best, least := "", min(3, (len(got)+2)/2)
	for _, w := range words {
		if d := distance(got, w); d < least {
			best, least = w, d
		}
	}
	if best != "" {
		return "did you mean `" + best + "`?"
	}
	return "there are " + strings.Join(words, ", ")
}

// distance is the number of single-letter changes between two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		last := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := last
			if a[i-1] != b[j-1] {
				cost++
			}
			last = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}

func (p *parser) text(n *yaml.Node, what string) string {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		p.errorf(n, "test/kind", "write a text", "%s is a text, not %s", what, kindOf(n))
		return ""
	}
	return n.Value
}

// oneOf reads a word out of a few.
func (p *parser) oneOf(n *yaml.Node, what string, words ...string) string {
	text := p.text(n, what)
	if text != "" && !slices.Contains(words, text) {
		p.errorf(n, "test/value", p.instead(text, words), "%s cannot be %s", what, text)
	}
	return text
}

func (p *parser) texts(n *yaml.Node, what string) []string {
	if n.Kind != yaml.SequenceNode {
		p.errorf(n, "test/kind", "write a list: [a, b]", "%s is a list, not %s", what, kindOf(n))
		return nil
	}
	list := []string{}
	for _, item := range n.Content {
		list = append(list, p.text(resolved(item), "an entry of "+what))
	}
	return list
}

// items reads a list.
func (p *parser) items(n *yaml.Node, what string, take func(n *yaml.Node)) {
	if n.Kind != yaml.SequenceNode {
		p.errorf(n, "test/kind", "write a list, each entry behind a -", "%s is a list, not %s", what, kindOf(n))
		return
	}
	for _, item := range n.Content {
		take(resolved(item))
	}
}

func (p *parser) count(n *yaml.Node, what string) int {
	i, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || i < 0 {
		p.errorf(n, "test/kind", "write a number such as 2", "%s is a whole number from 0 on", what)
	}
	return i
}

func (p *parser) boolean(n *yaml.Node, what string) bool {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
		p.errorf(n, "test/kind", "write true or false", "%s is true or false, not %s", what, kindOf(n))
		return false
	}
	return strings.EqualFold(n.Value, "true")
}

// length reads a length of time, in nanoseconds.
func (p *parser) length(n *yaml.Node, what string) int64 {
	d, err := expr.ParseDuration(p.text(n, what))
	if err != nil || d < 0 {
		p.errorf(n, "test/duration", "write a length of time such as 30s, 2h or 3d", "%s is no length of time: %s", what, n.Value)
	}
	return int64(d)
}

func (p *parser) time(n *yaml.Node, what string) int64 {
	t, err := time.ParseInLocation(time.RFC3339, n.Value, time.UTC)
	if err != nil {
		p.errorf(n, "test/time", "write a time such as 2026-01-05T09:00:00Z", "%s is no time: %s", what, n.Value)
		return 0
	}
	return t.UnixNano()
}

// value reads any YAML as canonical JSON.
func (p *parser) value(n *yaml.Node) workflow.Value {
	before := len(p.list)
	text := p.json(nil, resolved(n))
	v, err := expr.Canonical(text)
	if err != nil && len(p.list) == before {
		p.errorf(n, "test/value", "write JSON or YAML", "this has no JSON form: %s", err)
	}
	return v
}

func (p *parser) json(b []byte, n *yaml.Node) []byte {
	switch n.Kind {
	case yaml.SequenceNode:
		b = append(b, '[')
		for i, item := range n.Content {
			if i > 0 {
				b = append(b, ',')
			}
			b = p.json(b, resolved(item))
		}
		return append(b, ']')
	case yaml.MappingNode:
		b = append(b, '{')
		first := true
		p.entries(n, "an object", func(key, value *yaml.Node) {
			if !first {
				b = append(b, ',')
			}
			first = false
			b = append(quoted(b, key.Value), ':')
			b = p.json(b, value)
		})
		return append(b, '}')
	}
	return p.scalar(b, n)
}

func (p *parser) scalar(b []byte, n *yaml.Node) []byte {
	switch n.ShortTag() {
	case "!!null":
		return append(b, "null"...)
	case "!!bool":
		return append(b, strings.ToLower(n.Value)...)
	case "!!int":
		if i, err := strconv.ParseInt(strings.TrimPrefix(n.Value, "+"), 0, 64); err == nil {
			return strconv.AppendInt(b, i, 10)
		}
		p.errorf(n, "test/value", "write it in quotes to keep it as text", "%s does not fit in 64 bits", n.Value)
		return append(b, '0')
	case "!!float":
		if wholeNumber.MatchString(n.Value) {
			p.errorf(n, "test/value", "write it in quotes to keep it as text", "%s does not fit in 64 bits", n.Value)
		}
		f, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			p.errorf(n, "test/value", "write it in quotes to keep it as text", "%s has no JSON form", n.Value)
			return append(b, '0')
		}
		text := strconv.FormatFloat(f, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return append(b, text...)
	}
	return quoted(b, n.Value)
}

// wholeNumber finds the whole numbers that the library makes doubles of, because they are too large.
var wholeNumber = regexp.MustCompile(`^[-+]?[0-9]+$`)

func quoted(b []byte, s string) []byte {
	text, _ := json.Marshal(s) // a string always has a JSON form
	return append(b, text...)
}

// template reads a value whose strings may hold ${ … }.
func (p *parser) template(n *yaml.Node) *workflow.Template {
	t := &workflow.Template{JSON: p.value(n), At: place(n)}
	if _, err := expr.LoadTemplate(t); err != nil {
		p.expression(n, err)
	}
	return t
}

// pattern reads a pattern of `like`.
func (p *parser) pattern(n *yaml.Node) *workflow.Template {
	t := &workflow.Template{JSON: p.value(n), At: place(n)}
	if _, err := expr.LoadPattern(t); err != nil {
		p.expression(n, err)
	}
	return t
}

// condition reads an expression, with or without its braces.
func (p *parser) condition(n *yaml.Node, what string) *workflow.Expr {
	source := strings.TrimSpace(p.text(n, what))
	if inner, ok := expr.Braced(source); ok {
		source = strings.TrimSpace(inner)
	}
	x := &workflow.Expr{Source: source, At: place(n)}
	if _, err := expr.Load(x); err != nil {
		p.expression(n, err)
	}
	return x
}

func (p *parser) expression(n *yaml.Node, err error) {
	p.errorf(n, "test/expression", "correct the expression", "%s", err)
}

func place(n *yaml.Node) workflow.Position { return workflow.Position{Line: n.Line, Column: n.Column} }
