package dsl

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// loaded reads a document and returns its tree as JSON.
func loaded(t *testing.T, document string) string {
	t.Helper()
	k := newSink("test.yaml")
	s := load("test.yaml", []byte(document), k)
	require.Empty(t, k.sorted())
	return string(s.root.value())
}

// refused reads a document and returns its diagnostics, one a line.
func refused(t *testing.T, document string) string {
	t.Helper()
	k := newSink("test.yaml")
	load("test.yaml", []byte(document), k)
	var lines []string
	for _, d := range k.sorted() {
		lines = append(lines, strings.TrimPrefix(d.String(), "test.yaml:")+" = "+d.Suggestion)
	}
	return strings.Join(lines, "\n")
}

func TestScalarsOfTheCoreSchema(t *testing.T) {
	for written, want := range map[string]string{
		`null`: `null`, `Null`: `null`, `NULL`: `null`, `~`: `null`, ``: `null`, `nUll`: `"nUll"`,
		`true`: `true`, `True`: `true`, `TRUE`: `true`, `false`: `false`, `False`: `false`, `FALSE`: `false`, `tRue`: `"tRue"`,
		`yes`: `"yes"`, `no`: `"no"`, `on`: `"on"`, `off`: `"off"`, `y`: `"y"`, `n`: `"n"`, `Yes`: `"Yes"`,
		`0`: `0`, `-0`: `0`, `7`: `7`, `-7`: `-7`, `+7`: `7`, `0o17`: `15`, `0xff`: `255`, `0xFF`: `255`,
		`9223372036854775807`: `9223372036854775807`, `-9223372036854775808`: `-9223372036854775808`,
		`1_000`: `"1_000"`, `0b11`: `"0b11"`, `0o8`: `"0o8"`, `0x`: `"0x"`, `1:30`: `"1:30"`, `1,5`: `"1,5"`,
		`1.5`: `1.5`, `1.0`: `1.0`, `-1.50`: `-1.5`, `.5`: `0.5`, `5.`: `5.0`, `1e3`: `1000.0`, `1E-3`: `0.001`, `+.5e1`: `5.0`, `1e21`: `1e+21`, `-0.0`: `-0.0`,
		`.`: `"."`, `+`: `"+"`, `1.2.3`: `"1.2.3"`, `e3`: `"e3"`, `.e3`: `".e3"`, `inf`: `"inf"`,
		`1d`: `"1d"`, `30s`: `"30s"`, `512MiB`: `"512MiB"`, `5%`: `"5%"`,
		`2027-01-31`: `"2027-01-31"`, `2027-01-31T09:00:00Z`: `"2027-01-31T09:00:00Z"`,
		`'7'`: `"7"`, `"true"`: `"true"`, `''`: `""`, `""`: `""`, `'it''s'`: `"it's"`,
		`"\u00e9\n\x41\U0001F600"`: `"é\nA😀"`, `"a\/b"`: `"a/b"`,
		`!!str 7`: `"7"`, `!!int 7`: `7`, `!!float 7`: `7.0`, `!!float 1.5`: `1.5`, `!!bool true`: `true`, `!!null ~`: `null`, `! 7`: `"7"`, `!!int "7"`: `7`,
		`!!seq [1]`: `[1]`, `!!map {a: 1}`: `{"a":1}`,
		`input.total > 1000 && input.vip`: `"input.total > 1000 && input.vip"`,
	} {
		t.Run(written, func(t *testing.T) { require.Equal(t, `{"v":`+want+`}`, loaded(t, "v: "+written+"\n")) })
	}
}

func TestBlocksAndFolding(t *testing.T) {
	for document, want := range map[string]string{
		"v: |\n  a\n   b\n\n  c\n":            `{"v":"a\n b\n\nc\n"}`,
		"v: |-\n  a\n  b\n":                   `{"v":"a\nb"}`,
		"v: |+\n  a\n\n":                      `{"v":"a\n\n"}`,
		"v: >\n  a\n  b\n\n  c\n":             `{"v":"a b\nc\n"}`,
		"v: a\n  b\n\n  c\n":                  `{"v":"a b\nc"}`,
		"v: 'a\n  b'\n":                       `{"v":"a b"}`,
		"v: \"a\\\n  b\"\n":                   `{"v":"ab"}`,
		"v: >-\n  1\n":                        `{"v":"1"}`,
		"v:\r\n  a: 1\r\n  b: |\r\n    x\r\n": `{"v":{"a":1,"b":"x\n"}}`,
		"\ufeffv: 1\n":                        `{"v":1}`,
		"%YAML 1.2\n---\nv: 1\n...\n":         `{"v":1}`,
		"# comment\nv: 1 # more\n":            `{"v":1}`,
		"{\"v\": [1, 2.0, \"x\", null]}":      `{"v":[1,2.0,"x",null]}`,
		"? v\n: 1\n":                          `{"v":1}`,
		"1: a\ntrue: b\nnull: c\n1.50: d\n":   `{"1":"a","1.50":"d","null":"c","true":"b"}`,
		`{"v": "\ud83d\ude00\\ud83d\\ude00"}`: `{"v":"😀\\ud83d\\ude00"}`,
		"on: [a]\n":                           `{"on":["a"]}`,
		"\"a\\u0000b\": 1\n":                  `{"a\u0000b":1}`,
	} {
		t.Run(document, func(t *testing.T) { require.Equal(t, want, loaded(t, document)) })
	}
}

func TestAliasesAndMergeKeys(t *testing.T) {
	for document, want := range map[string]string{
		"a: &x {b: 1}\nc: *x\n":                                 `{"a":{"b":1},"c":{"b":1}}`,
		"a: &x 7\n*x : c\n":                                     `{"7":"c","a":7}`,
		"a: &x 1\nb: &x 2\nc: *x\n":                             `{"a":1,"b":2,"c":2}`,
		"a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\n":               `{"a":{"b":1,"c":2},"d":{"b":1,"c":3}}`,
		"a: &x {b: 1}\ne: &y {b: 2, c: 2}\nd: {<<: [*x, *y]}\n": `{"a":{"b":1},"d":{"b":1,"c":2},"e":{"b":2,"c":2}}`,
		"a: {<<: {b: 1}}\n":                                     `{"a":{"b":1}}`,
		"a: {'<<': 1}\n":                                        `{"a":{"<<":1}}`,
		"a: &x {b: &y [1]}\nc: {<<: *x, d: *y}\n":               `{"a":{"b":[1]},"c":{"b":[1],"d":[1]}}`,
	} {
		t.Run(document, func(t *testing.T) { require.Equal(t, want, loaded(t, document)) })
	}
}

func TestDocumentsThatCannotBeRead(t *testing.T) {
	for document, want := range map[string]string{
		"":                                  "1:1: error: the document is empty [dsl/empty] = start with `dsl: wovyr/v1`, `name` and `steps`",
		"# nothing\n":                       "1:1: error: the document is empty [dsl/empty] = start with `dsl: wovyr/v1`, `name` and `steps`",
		"---\n...\n":                        "1:1: error: the document is empty [dsl/empty] = start with `dsl: wovyr/v1`, `name` and `steps`",
		"a: 1\n---\nb: 2\n":                 "2:1: error: the file holds more than one document [dsl/many-documents] = write one file for each workflow",
		"a: 1\n--- |\n x: [\n":              "2:1: error: the file holds more than one document [dsl/many-documents] = write one file for each workflow",
		"a: 1\nb: 2\na: 3\n":                `3:1: error: "a" stands twice in this mapping, first in line 1 [dsl/duplicate-key] = keep one of the two`,
		"a: {b: 1, 'b': 2}\n":               `1:11: error: "b" stands twice in this mapping, first in line 1 [dsl/duplicate-key] = keep one of the two`,
		"a: \xff\n":                         "1:4: error: byte 3 (0xFF) is not UTF-8 [dsl/encoding] = save the file as UTF-8",
		"é: \xc3\n":                         "1:4: error: byte 4 (0xC3) is not UTF-8 [dsl/encoding] = save the file as UTF-8",
		"\xff\xfea\x00":                     "1:1: error: byte 0 (0xFF) is not UTF-8 [dsl/encoding] = save the file as UTF-8",
		"a: \xed\xa0\x80\n":                 "1:4: error: byte 3 (0xED) is not UTF-8 [dsl/encoding] = save the file as UTF-8",
		"a: b\x00c\n":                       "1:5: error: the control character U+0000 cannot stand in a document [dsl/control-character] = in a double-quoted string, write an escape such as \"\\u0007\"",
		"a: 1\nb: \x1b[31m\n":               "2:4: error: the control character U+001B cannot stand in a document [dsl/control-character] = in a double-quoted string, write an escape such as \"\\u0007\"",
		"a: b\ufeffc\n":                     "1:5: error: the control character U+FEFF cannot stand in a document [dsl/control-character] = in a double-quoted string, write an escape such as \"\\u0007\"",
		"a:\n\tb: 1\n":                      "2:1: error: this is not YAML: while scanning for the next token: found character that cannot start any token [dsl/syntax] = indent with spaces; YAML allows no tabs there",
		"a: [1, 2\n":                        "2:1: error: this is not YAML: while parsing a flow sequence: did not find expected ',' or ']' [dsl/syntax] = check the indentation and the quotes around this place",
		"a: { b: ${ c } }\n":                "1:10: error: this is not YAML: while parsing a flow mapping: did not find expected ',' or '}' [dsl/syntax] = put the expression in single quotes: '${ … }'",
		"a: b: c\n":                         "1:5: error: this is not YAML: mapping values are not allowed in this context [dsl/syntax] = put a text that holds `: ` in quotes",
		"a: 'b\n":                           "1:4: error: this is not YAML: while scanning a quoted scalar: found unexpected end of stream [dsl/syntax] = close the quote that opens here",
		"a: *x\n":                           "1:4: error: this is not YAML: unknown anchor 'x' referenced [dsl/syntax] = define the anchor with `&name` before it is used",
		"a: !x 1\n":                         "1:4: error: the tag !x is not part of the language [dsl/tag] = leave the tag out; put an expression that starts with ! in quotes",
		"a: !!binary aGk=\n":                "1:4: error: the tag !!binary is not part of the language [dsl/tag] = leave the tag out; a binary value is text in base64",
		"a: !!python/object:os.system {}\n": "1:4: error: the tag !!python/object:os.system is not part of the language [dsl/tag] = leave the tag out; a binary value is text in base64",
		"a: !!timestamp 2027-01-31\n":       "1:4: error: the tag !!timestamp is not part of the language [dsl/tag] = leave the tag out; a binary value is text in base64",
		"when: !input.vip\n":                "1:7: error: the tag !input.vip is not part of the language [dsl/tag] = leave the tag out; put an expression that starts with ! in quotes",
		"a: !!int x\n":                      `1:10: error: "x" is not what its tag !!int says [dsl/tag] = leave the tag out`,
		"a: !y!x 1\n":                       "1:4: error: this is not YAML: while parsing a node: found undefined tag handle [dsl/syntax] = leave the tag out",
		"a: 9223372036854775808\n":          "1:4: error: the whole number 9223372036854775808 does not fit in 64 bits [dsl/number] = write it in quotes to keep it as text, or with a fraction",
		"a: 0xffffffffffffffff\n":           "1:4: error: the whole number 0xffffffffffffffff does not fit in 64 bits [dsl/number] = write it in quotes to keep it as text, or with a fraction",
		"a: 1e999\n":                        "1:4: error: the number 1e999 is too large [dsl/number] = write it in quotes to keep it as text",
		"a: .inf\n":                         "1:4: error: .inf has no JSON form [dsl/number] = write it in quotes to keep it as text",
		"a: -.Inf\n":                        "1:4: error: -.Inf has no JSON form [dsl/number] = write it in quotes to keep it as text",
		"a: .NaN\n":                         "1:4: error: .NaN has no JSON form [dsl/number] = write it in quotes to keep it as text",
		"a: 0123\n":                         "1:4: warning: 0123 is the decimal number 123; an octal number starts with 0o [dsl/leading-zero] = write 123, or '0123' in quotes for a text",
		"a: &x [*x]\n":                      "1:8: error: the alias *x stands inside its own anchor [dsl/alias] = write the value out",
		"a: &x {b: {c: *x}}\n":              "1:15: error: the alias *x stands inside its own anchor [dsl/alias] = write the value out",
		"a: {<<: 1}\n":                      "1:9: error: `<<` takes a mapping or a list of mappings [dsl/merge] = write `<<: *name`",
		"a: {<<: [1]}\n":                    "1:10: error: `<<` takes mappings only [dsl/merge] = write `<<: *name`",
		"a: {{b: 1}: 2}\n":                  "1:5: error: the key of a mapping must be text [dsl/key] = write a name as the key; put an expression in quotes: '${ … }'",
		"? [a]\n: 1\n":                      "1:3: error: the key of a mapping must be text [dsl/key] = write a name as the key; put an expression in quotes: '${ … }'",
		"&x [a]: 1\nb: {*x : 2}\n": "1:1: error: the key of a mapping must be text [dsl/key] = write a name as the key; put an expression in quotes: '${ … }'\n" +
			"2:5: error: the key of a mapping must be text [dsl/key] = write a name as the key; put an expression in quotes: '${ … }'",
		strings.Repeat("k", 257) + ": 1\n": "1:1: error: a key of 257 bytes is longer than 256 [dsl/key] = write a shorter name",
	} {
		t.Run(document, func(t *testing.T) { require.Equal(t, want, refused(t, document)) })
	}
}

func TestFindingsOfReadingHavePointers(t *testing.T) {
	k := newSink("test.yaml")
	s := load("test.yaml", []byte("a: { b: [ 1, 0123, 1e999 ] }\nc: { d: 1, d: 2, <<: 1 }\ne/f: &e { g: *e }\nh: !x 1\n"), k)
	var got []string
	for _, d := range k.sorted() {
		got = append(got, d.Code+" "+d.Pointer)
	}
	require.Equal(t, []string{"dsl/leading-zero /a/b/1", "dsl/number /a/b/2", "dsl/duplicate-key /c/d", "dsl/merge /c/<<", "dsl/alias /e~1f/g", "dsl/tag /h"}, got)
	require.Equal(t, "/a/b/2", s.pointerAt(s.at("/a/b/2")), "places are looked up in the whole tree")
}
