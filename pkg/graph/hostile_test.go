package graph

import (
	"encoding/xml"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// named is a definition of every shape in which each text is the given one.
func named(s string) *workflow.Definition {
	other := func(n string) string { return n + s }
	choose := workflow.Step{Name: s, Kind: workflow.KindSwitch, When: expr(s),
		Switch: &workflow.Switch{Branches: []workflow.Branch{{When: expr(s), Then: []string{other("a"), other("b")}}}}}
	wait := workflow.Step{Name: other("a"), Kind: workflow.KindEvent, Picked: []string{s}, Event: &workflow.EventWait{Any: []workflow.EventPattern{{Type: s}}}}
	race := workflow.Step{Name: other("b"), Kind: workflow.KindRace, Picked: []string{s}, Race: &workflow.Race{Branches: []workflow.RaceBranch{
		{Name: s, Body: workflow.Body{Steps: []workflow.Step{call(s, workflow.KindFunction)}}},
		{Name: other("c"), Body: workflow.Body{Steps: []workflow.Step{call(s, workflow.KindAI)}}},
	}}}
	end := workflow.Step{Name: other("e"), Kind: workflow.Kind(s), Exit: true, Call: &workflow.Call{Target: template(s)},
		Compensate: &workflow.Compensate{Kind: workflow.Kind(s), Call: &workflow.Call{Name: s}}}
	return &workflow.Definition{Name: s, Description: s, Body: workflow.Body{Steps: []workflow.Step{choose, wait, race, end}}}
}

var hostile = []string{
	`"]; end`, `"]:::x`, "end", "subgraph", "graph", "a\nend\nb", "a\r\n---\nb", `%%{init: {"theme":"dark"}}%%`, "%% comment", "#quot;", "#35;",
	"<script>alert(1)</script>", "<b>", "&amp;", "&", "]]>", "<!--", `\N\G\l`, `\`, `"`, "'", "`code`", "`\"", "**bold**", "1. list", "- list", "# title",
	"call", "click n href", "default", "|", `|"x"|`, "-->", "{", "}}", "${ a }", "$$x$$", "$$$x$$$", "\x00\x01\x7f", "\u2028", "\ufffe", "\xff\xfe", "日本語 👩‍🚀", "\u202eabc", "@{ shape: circle }",
	"", " ", strings.Repeat("long", 600), `<a href="javascript:x">`, "http://a.example/?a=b&c=d", ";", "a;b", "x:::y", "~~~",
}

func TestHostileTexts(t *testing.T) {
	for _, s := range hostile {
		requireHarmless(t, s)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`(["#%&<>\\|{}()\[\];:'$@~]|end|[a-z \n-]){0,40}`)).Draw(t, "text")
		requireHarmless(t, s)
	})
}

// requireHarmless holds the pictures of a hostile text against those of a harmless one: they have the same structure.
func requireHarmless(t require.TestingT, s string) {
	want, got := Of(named("harmless")), Of(named(s))
	if oneLine(s) == "" { // no texts, so fewer parts
		requireXML(t, got.SVG())
		return
	}
	require.Equal(t, elements(t, want.SVG()), elements(t, got.SVG()), "SVG of %q", s)
	require.Equal(t, mermaidShape(t, want.Mermaid()), mermaidShape(t, got.Mermaid()), "Mermaid of %q", s)
	require.Equal(t, dotShape(want.DOT()), dotShape(got.DOT()), "DOT of %q", s)
}

// elements lists the elements of an SVG with the names of their attributes.
func elements(t require.TestingT, svg string) (names []string) {
	requireXML(t, svg)
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if err != nil {
			return names
		}
		if e, ok := token.(xml.StartElement); ok {
			name := e.Name.Local
			for _, a := range e.Attr {
				name += " " + a.Name.Local
			}
			names = append(names, name)
		}
	}
}

var (
	mermaidID     = regexp.MustCompile(`n\.[A-Za-z0-9_.]+`)
	mermaidQuoted = regexp.MustCompile(`"[^"]*"`)
)

// mermaidShape is a chart without its texts: identifiers and what stands in quotes. Texts hold none of the characters that Mermaid reads.
func mermaidShape(t require.TestingT, s string) (lines []string) {
	for i, line := range strings.Split(s, "\n") {
		if i == 1 { // the title, in YAML
			require.Regexp(t, `^title: "([^"\\]|\\["\\])*"$`, line)
			continue
		}
		for _, quoted := range mermaidQuoted.FindAllString(line, -1) {
			text := strings.NewReplacer("<b>", "", "</b>", " ", "<i>", "", "</i>", "", "<br/>", " ").Replace(quoted[1 : len(quoted)-1])
			require.NotRegexp(t, "[<>&%`*\\\\@~]|[$][$]", text)
			require.NotRegexp(t, `#([^0-9]|$)`, text)
		}
		line = mermaidQuoted.ReplaceAllString(line, `""`)
		lines = append(lines, mermaidID.ReplaceAllString(line, "id"))
	}
	return lines
}

var (
	dotQuoted = regexp.MustCompile(`"([^"\\]|\\.)*"`)
	dotMarkup = regexp.MustCompile(`label=<(<b>|<i>|</b>|</i>|<br/>|[^<>])*>`)
)

// dotShape is a DOT file without its texts.
func dotShape(s string) (lines []string) {
	for _, line := range strings.Split(s, "\n") {
		line = dotMarkup.ReplaceAllString(line, "label=text")
		lines = append(lines, dotQuoted.ReplaceAllString(line, `""`))
	}
	return lines
}

func TestLargeGraph(t *testing.T) {
	def := &workflow.Definition{Name: "large"}
	for i := range 1000 {
		s := call(fmt.Sprint("s", i), workflow.KindFunction)
		if i > 0 {
			s.Needs = []workflow.Need{need(fmt.Sprint("s", i/2))}
		}
		def.Body.Steps = append(def.Body.Steps, s)
	}
	g := Of(def)
	requireXML(t, g.SVG())
	require.Equal(t, g.SVG(), Of(def).SVG())
}
