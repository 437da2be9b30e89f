package dsl

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// The plain scalars of YAML 1.2's core schema (§10.3.2). Everything else is text: yes, on, 1d, 2026-01-01.
var (
	coreInt   = regexp.MustCompile(`^[-+]?[0-9]+$`)
	coreOctal = regexp.MustCompile(`^0o[0-7]+$`)
	coreHex   = regexp.MustCompile(`^0x[0-9a-fA-F]+$`)
	coreFloat = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	coreOther = regexp.MustCompile(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

func plain(y *yaml.Node) bool {
	return y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) == 0
}

func styleOf(y *yaml.Node) style {
	switch {
	case y.Style&yaml.SingleQuotedStyle != 0:
		return styleSingle
	case y.Style&yaml.DoubleQuotedStyle != 0:
		return styleDouble
	case y.Style&yaml.LiteralStyle != 0:
		return styleLiteral
	case y.Style&yaml.FoldedStyle != 0:
		return styleFolded
	}
	return stylePlain
}

// scalar types a scalar by the core schema and its tag; untyped is the tag !, which leaves it a text.
func (b *treeBuilder) scalar(n *node, y *yaml.Node, pointer string, untyped bool) {
	n.style, n.text, n.kind = styleOf(y), y.Value, kindString
	if len(y.Value) > maxScalar {
		b.errorAt(pointer, n.at, 0, "dsl/too-large", "keep large texts outside and fetch them in a step",
			"a text of %d bytes is longer than %d", len(y.Value), maxScalar)
		n.text = ""
		return
	}
	n.bytes += len(n.text)
	tagged := y.Style&yaml.TaggedStyle != 0
	if !tagged && !untyped && n.style == stylePlain {
		b.resolve(n, pointer)
		return
	}
	if !tagged {
		return
	}
	want := map[string]nodeKind{"!": kindString, "!!str": kindString, "!!int": kindInt, "!!float": kindFloat, "!!bool": kindBool, "!!null": kindNull}
	kind, known := want[y.Tag]
	if !known {
		b.badTag(y, pointer)
		return
	}
	if kind == kindString {
		return
	}
	b.resolve(n, pointer)
	if n.kind == kindInt && kind == kindFloat {
		n.kind, n.text = kindFloat, n.text+".0"
	}
	if n.kind != kind {
		b.errorAt(pointer, n.at, 0, "dsl/tag", "leave the tag out", "%q is not what its tag %s says", clip(y.Value), y.Tag)
	}
}

// resolve types a plain scalar. Numbers get JSON's spelling.
func (b *treeBuilder) resolve(n *node, pointer string) {
	switch n.text {
	case "", "~", "null", "Null", "NULL":
		n.kind, n.text = kindNull, "null"
		return
	case "true", "True", "TRUE", "false", "False", "FALSE":
		n.kind, n.text = kindBool, strings.ToLower(n.text)
		return
	}
	first := n.text[0]
	if (first < '0' || first > '9') && first != '-' && first != '+' && first != '.' {
		return
	}
	switch {
	case coreInt.MatchString(n.text):
		b.integer(n, pointer, strings.TrimPrefix(n.text, "+"), 10)
	case coreOctal.MatchString(n.text):
		b.integer(n, pointer, n.text[2:], 8)
	case coreHex.MatchString(n.text):
		b.integer(n, pointer, n.text[2:], 16)
	case coreFloat.MatchString(n.text):
		f, err := strconv.ParseFloat(n.text, 64)
		if err != nil || math.IsInf(f, 0) {
			b.errorAt(pointer, n.at, len(n.text), "dsl/number", "write it in quotes to keep it as text", "the number %s is too large", clip(n.text))
			f = 0
		}
		n.kind, n.text = kindFloat, strconv.FormatFloat(f, 'g', -1, 64)
		if !strings.ContainsAny(n.text, ".e") {
			n.text += ".0"
		}
	case coreOther.MatchString(n.text):
		b.errorAt(pointer, n.at, len(n.text), "dsl/number", "write it in quotes to keep it as text", "%s has no JSON form", n.text)
	}
}

func (b *treeBuilder) integer(n *node, pointer, digits string, base int) {
	n.kind = kindInt
	i, err := strconv.ParseInt(digits, base, 64)
	if err != nil {
		b.errorAt(pointer, n.at, len(n.text), "dsl/number", "write it in quotes to keep it as text, or with a fraction",
			"the whole number %s does not fit in 64 bits", clip(n.text))
	}
	if written := strings.TrimLeft(digits, "-"); base == 10 && len(written) > 1 && written[0] == '0' && b.sink.room(SeverityWarning) {
		b.sink.add(span(pointer, n.at, len(n.text)), SeverityWarning, "dsl/leading-zero", "write "+strconv.FormatInt(i, 10)+", or '"+clip(n.text)+"' in quotes for a text",
			fmt.Sprintf("%s is the decimal number %d; an octal number starts with 0o", clip(n.text), i))
	}
	n.text = strconv.FormatInt(i, 10)
}
