package tidy

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

func checkWords(r *Repo, h *House) []Finding {
	var out []Finding
	for _, word := range h.Words {
		re := regexp.MustCompile(word.Pattern)
		for _, name := range r.Files {
			text, err := r.Read(name)
			if err != nil {
				out = append(out, Finding{Path: name, Text: err.Error()})
				continue
			}
			for _, span := range re.FindAllStringIndex(text, -1) {
				out = append(out, Finding{
					Path: name, Line: 1 + strings.Count(text[:span[0]], "\n"),
					Text: fmt.Sprintf("%q is %s, which is nothing to a reader of this repository: say it without", strings.TrimSpace(text[span[0]:span[1]]), word.Why),
				})
			}
		}
	}
	return out
}

// document is a Markdown file as the rules read it.
type document struct {
	path  string
	lines []string // without the content of code blocks and code spans
}

var codeSpan = regexp.MustCompile("`[^`]*`")

func (r *Repo) document(name string) (document, error) {
	text, err := r.Read(name)
	if err != nil {
		return document{}, err
	}
	d := document{path: name}
	fenced := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			line = ""
		}
		if fenced {
			line = ""
		}
		d.lines = append(d.lines, line)
	}
	return d, nil
}

// link is a target in a document, with its line (from 1).
type link struct {
	line         int
	path, anchor string
}

var linkPattern = regexp.MustCompile(`\]\(<?([^()\s<>]+(?:\([^()\s]*\))?)>?(?:\s+"[^"]*")?\)`)

// links returns the document's relative links.
func (d document) links() []link {
	var out []link
	for i, line := range d.lines {
		if coverageRow.MatchString(line) {
			continue // checkCoverage looks at these, symbols included
		}
		for _, m := range linkPattern.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, "``"), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			target, anchor, _ := strings.Cut(m[1], "#")
			if target != "" {
				target = path.Join(path.Dir(d.path), target)
			} else {
				target = d.path
			}
			out = append(out, link{line: i + 1, path: target, anchor: anchor})
		}
	}
	return out
}

// anchors returns the names under which the document's headings can be linked, as GitHub forms them.
func (d document) anchors() []string {
	var out []string
	for _, line := range d.lines {
		title, ok := strings.CutPrefix(line, "#")
		if !ok {
			continue
		}
		slug := strings.Map(func(c rune) rune {
			switch {
			case c == ' ':
				return '-'
			case unicode.IsLetter(c), unicode.IsDigit(c), c == '-', c == '_':
				return unicode.ToLower(c)
			}
			return -1
		}, strings.TrimSpace(strings.TrimLeft(title, "#")))
		for base, n := slug, 1; slices.Contains(out, slug); n++ {
			slug = fmt.Sprintf("%s-%d", base, n)
		}
		out = append(out, slug)
	}
	return out
}

func checkLinks(r *Repo, _ *House) []Finding {
	var out []Finding
	for _, name := range r.Files {
		if !isDocument(name) {
			continue
		}
		d, err := r.document(name)
		if err != nil {
			out = append(out, Finding{Path: name, Text: err.Error()})
			continue
		}
		for _, l := range d.links() {
			if text := r.broken(l); text != "" {
				out = append(out, Finding{Path: name, Line: l.line, Text: text})
			}
		}
	}
	return out
}

// isDocument reports whether a file is read where it stands: at the top, in docs, or as a README. Other Markdown is a
// part that some program puts elsewhere.
func isDocument(name string) bool {
	return path.Ext(name) == ".md" && !inTestdata(name) &&
		(!strings.Contains(name, "/") || strings.HasPrefix(name, "docs/") || path.Base(name) == "README.md")
}

// broken says what is wrong with a link, or nothing.
func (r *Repo) broken(l link) string {
	if !r.Has(l.path) {
		return fmt.Sprintf("link to %s leads nowhere: correct it, or commit the file", l.path)
	}
	if l.anchor == "" || path.Ext(l.path) != ".md" {
		return "" // what follows # in a Go file is a symbol, which the coverage test looks up
	}
	target, err := r.document(l.path)
	if err != nil {
		return err.Error()
	}
	if !slices.Contains(target.anchors(), l.anchor) {
		return fmt.Sprintf("%s has no heading #%s", l.path, l.anchor)
	}
	return ""
}

// inTestdata reports whether a file is a test's material, which may be wrong on purpose.
func inTestdata(name string) bool { return strings.Contains("/"+name, "/testdata/") }
