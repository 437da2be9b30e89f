package dsl

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
)

// Reference returns the reference page of the language in Markdown: each mapping with its words, what may stand after
// them, and what they mean. It is derived from the table that Compile checks by; docs/language.md is this text.
func Reference() []byte {
	var b bytes.Buffer
	b.WriteString(referenceHead)
	fmt.Fprintf(&b, referenceValues, maxAttempts, maxCount)
	b.WriteString("## The words\n\n")
	walkObjects(workflowShape, func(o *object) { o.describe(&b) })
	b.WriteString("## Reserved words\n\nThey are refused as `dsl/unsupported` until they work.\n\n| word | what it will be | until then |\n|---|---|---|\n")
	seen := map[string]bool{}
	walkObjects(workflowShape, func(o *object) {
		for _, w := range o.words {
			if w.reserved != "" && !seen[w.name] {
				seen[w.name] = true
				fmt.Fprintf(&b, "| `%s` | %s | %s |\n", w.name, cell(w.doc), cell(w.reserved))
			}
		}
	})
	fmt.Fprintf(&b, referenceLimits, maxBytes>>10, maxMarks, maxDepth, maxScalar>>10, maxKey, maxSteps, maxNesting, maxName, maxList, maxSchemaNodes, maxSchemaTotal, maxDiagnostics)
	return b.Bytes()
}

//go:embed language_head.md
var referenceHead string

const referenceValues = "## Values\n\n" +
	"- **An expression** is [CEL](expressions.md) in `${ … }`. Where only an expression can stand, the braces may be left out. In a text, expressions are\n" +
	"  interpolated; a text that is one expression yields its typed value. `$${` is a plain `${`. Put it in single quotes: YAML would\n" +
	"  read a brace, a `!`, `: ` or ` #` in its own way.\n" +
	"- **A duration** is a number with a unit in one word: `250ms`, `30s`, `15m`, `2h`, `7d`, `1d12h`. A bare number is refused.\n" +
	"- **A size** is a whole number with a unit in one word: `512MiB`, `2GB` (B, KB, MB, GB; KiB, MiB, GiB).\n" +
	"- **A time** is date, time and zone: `2027-01-31T09:00:00Z`. **A date** is `2027-01-31`.\n" +
	"- **A cron expression** has five fields: minute, hour, day of month, month, day of week: `0 9 * * MON-FRI`. Where both days\n" +
	"  are given, either will do. When clocks change, a time that is skipped comes at the change and one that happens twice comes once;\n" +
	"  with `*` as the hour, real hours count.\n" +
	"- **A name** of a step, variable or branch has letters, digits and `_`, does not start with a digit, and is no word that CEL keeps for itself.\n" +
	"- **A whole number** goes up to %d for attempts and to %d elsewhere, unless the table says otherwise.\n" +
	"- YAML is read by its core schema: `yes`, `on` and `2027-01-31` are texts. Anchors, aliases and `<<` work; other tags than those\n" +
	"  of the core schema, a second document in the file and duplicate keys are refused.\n\n"

const referenceLimits = `
## Limits of a document

| what | limit |
|---|---|
| the document, and again what its aliases expand to | %d KiB |
| lines and marks of punctuation | %d |
| lists and mappings inside each other | %d |
| one text | %d KiB |
| one key | %d bytes |
| steps, bodies included | %d |
| bodies inside each other | %d |
| a name of a step, variable or branch | %d characters |
| entries of a list of the language | %d |
| values in one JSON Schema | %d |
| values in all JSON Schemas that differ | %d |
| findings that are reported | %d |
`

// describe writes the section of one mapping.
func (o *object) describe(b *bytes.Buffer) {
	if o.reserved() {
		return
	}
	fmt.Fprintf(b, "### %s\n\n%s\n", o.name, o.doc)
	if len(o.one) > 0 {
		fmt.Fprintf(b, "\nExactly one of %s.\n", oneOf(o.one))
	}
	for _, set := range o.most {
		fmt.Fprintf(b, "\nAt most one of %s.\n", oneOf(set))
	}
	for _, pair := range o.pairs {
		fmt.Fprintf(b, "\n`%s` needs `%s`.\n", pair[0], pair[1])
	}
	b.WriteString("\n| word | value | what it means | example |\n|---|---|---|---|\n")
	for i := range o.words {
		w := &o.words[i]
		if w.reserved != "" {
			continue
		}
		about := w.doc
		if w.required {
			about += " **Required.**"
		}
		if w.fallback != "" {
			about += " Default: " + w.fallback + "."
		}
		if len(w.only) > 0 {
			about += " Only beside " + oneOf(w.only) + "."
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | `%s: %s` |\n", w.name, cell(linked(w.value)), cell(about), w.name, strings.ReplaceAll(w.example, "|", `\|`))
	}
	b.WriteByte('\n')
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// linked is the label of a shape with links to the mappings that may stand there.
func linked(s shape) string {
	if o, ok := s.(*object); ok {
		return o.link()
	}
	label := s.label()
	for _, o := range nearObjects(s) {
		if o.reserved() {
			continue
		}
		label += " (" + o.link() + ")"
	}
	return label
}

func (o *object) link() string { return fmt.Sprintf("[%s](#%s)", o.name, o.slug()) }

// nearObjects are the mappings in a shape that are not inside another one.
func nearObjects(s shape) []*object {
	switch s := s.(type) {
	case *object:
		return []*object{s}
	case *list:
		return nearObjects(s.item)
	case branches:
		return nearObjects(s.item)
	case *dictionary:
		return nearObjects(s.value)
	case *variants:
		var all []*object
		for _, v := range []shape{s.text, s.number, s.list, s.object} {
			if v != nil {
				all = append(all, nearObjects(v)...)
			}
		}
		if s.list != nil && s.object != nil && len(all) > 1 {
			all = all[:1]
		}
		return all
	case body:
		return []*object{stepShape}
	case assignment:
		return []*object{reduceShape}
	}
	return nil
}
