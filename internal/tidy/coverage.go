package tidy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// coverageDoc maps each requirement of the specification to code and test.
const coverageDoc = "docs/spec-coverage.md"

// CoverageRow is one requirement in docs/spec-coverage.md:
//
//	| WF-006/8.3 | Scheduled → Running is allowed | done | [table](../pkg/fsm/x.go#Symbol) | [test](../pkg/fsm/x_test.go#TestX) |
type CoverageRow struct {
	Line            int
	Doc             string // "WF-006"
	Section, Number int
	Requirement     string
	Status          string // done, part, waits, text
	Issue           string // what a part or waits row waits for
	code, test      string
}

// ID returns "WF-006/8.3".
func (c CoverageRow) ID() string { return fmt.Sprintf("%s/%d.%d", c.Doc, c.Section, c.Number) }

var (
	coverageRow    = regexp.MustCompile(`^\|\s*(WF-\d+)/(\d+)\.(\d+)\s*\|([^|]*)\|([^|]*)\|([^|]*)\|([^|]*)\|$`)
	coverageLink   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	coverageStatus = regexp.MustCompile(`^(done|text)$|^(part|waits): (.+)$`)
)

// Coverage reads the rows of docs/spec-coverage.md.
func (r *Repo) Coverage() ([]CoverageRow, []Finding) {
	text, err := r.Read(coverageDoc)
	if err != nil {
		return nil, []Finding{{Path: coverageDoc, Text: err.Error()}}
	}
	var rows []CoverageRow
	var bad []Finding
	line := 0
	for l := range strings.Lines(text) {
		line++
		l = strings.TrimSpace(l)
		if !strings.HasPrefix(l, "| WF-") {
			continue
		}
		m := coverageRow.FindStringSubmatch(l)
		if m == nil {
			bad = append(bad, Finding{Path: coverageDoc, Line: line, Text: "no row of the form | WF-006/8.3 | requirement | status | code | test | (a | inside a cell is written &#124;)"})
			continue
		}
		row := CoverageRow{Line: line, Doc: m[1], Requirement: strings.TrimSpace(m[4]), code: m[6], test: m[7]}
		fmt.Sscan(m[2], &row.Section)
		fmt.Sscan(m[3], &row.Number)
		status := coverageStatus.FindStringSubmatch(strings.TrimSpace(m[5]))
		if status == nil {
			bad = append(bad, Finding{Path: coverageDoc, Line: line, Text: fmt.Sprintf("%s has status %q: write done, part: <issue>, waits: <issue> or text", row.ID(), strings.TrimSpace(m[5]))})
			continue
		}
		row.Status, row.Issue = status[1]+status[2], status[3]
		rows = append(rows, row)
	}
	return rows, bad
}

func checkCoverage(r *Repo, h *House) []Finding {
	if h.Sections == nil {
		return nil
	}
	rows, out := r.Coverage()
	out = append(out, checkNumbers(rows, h.Sections)...)
	for _, row := range rows {
		add := func(format string, args ...any) {
			out = append(out, Finding{Path: coverageDoc, Line: row.Line, Text: row.ID() + " " + fmt.Sprintf(format, args...)})
		}
		if row.Requirement == "" {
			add("does not say what it requires")
		}
		if row.Issue != "" && !slices.Contains(h.Issues, row.Issue) {
			add("waits for %q: write one of %s", row.Issue, strings.Join(h.Issues, ", "))
		}
		code, test := r.coverageLinks(row.code, add), r.coverageLinks(row.test, add)
		switch row.Status {
		case "done", "part":
			if len(code) == 0 || len(test) == 0 {
				add("is %s but does not link both code and test", row.Status)
			}
		case "waits", "text":
			if len(code)+len(test) > 0 && row.Status == "waits" {
				add("waits but links code or a test: make it part: %s, or done", row.Issue)
			}
		}
		for _, t := range test {
			if !strings.HasSuffix(t, "_test.go") && !inTestdata(t) {
				add("links %s as its test, which is neither a _test.go file nor in testdata", t)
			}
		}
	}
	return out
}

// checkNumbers compares the rows with the number of requirements that each section has (sections[doc][i] is that of
// section i+1): each there once, in order.
func checkNumbers(rows []CoverageRow, sections map[string][]int) []Finding {
	var got, want []string
	for _, row := range rows {
		got = append(got, row.ID())
	}
	for _, doc := range slices.Sorted(maps.Keys(sections)) {
		for i, n := range sections[doc] {
			for j := range n {
				want = append(want, fmt.Sprintf("%s/%d.%d", doc, i+1, j+1))
			}
		}
	}
	var out []Finding
	for i := range max(len(got), len(want)) {
		if i < len(got) && i < len(want) && got[i] == want[i] {
			continue
		}
		f := Finding{Path: coverageDoc}
		switch {
		case i >= len(got):
			f.Text = "ends before row " + want[i]
		case i >= len(want):
			f.Line, f.Text = rows[i].Line, "row "+got[i]+" stands behind the last one expected"
		default:
			f.Line, f.Text = rows[i].Line, "row "+got[i]+" stands where "+want[i]+" is expected"
		}
		f.Text += ": each requirement has one row, numbered in order, and the table of sections in tidy_test.go has their number"
		return append(out, f) // the rest would be shifted too
	}
	return out
}

// coverageLinks returns the files that a cell links to, and reports links that lead nowhere.
func (r *Repo) coverageLinks(cell string, report func(string, ...any)) []string {
	var out []string
	for _, m := range coverageLink.FindAllStringSubmatch(cell, -1) {
		target, symbol, _ := strings.Cut(m[1], "#")
		target = path.Join(path.Dir(coverageDoc), target)
		switch {
		case !r.Has(target):
			report("links to %s, which does not exist", target)
		case symbol != "" && strings.HasSuffix(target, ".go") && !r.declares(target, symbol):
			report("links to %s#%s, but that file declares no %s", target, symbol, symbol)
		}
		out = append(out, target)
	}
	return out
}

// declares reports whether a Go file declares a symbol at top level: "Name", "Type.Method".
func (r *Repo) declares(file, symbol string) bool {
	text, err := r.Read(file)
	if err != nil {
		return false
	}
	syntax, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(syntax.Decls, func(d ast.Decl) bool { return slices.Contains(declared(d), symbol) })
}

// declared lists the names of a declaration, methods as "Type.Method".
func declared(d ast.Decl) []string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil {
			return []string{receiverName(d.Recv) + "." + d.Name.Name}
		}
		return []string{d.Name.Name}
	case *ast.GenDecl:
		var out []string
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				out = append(out, s.Name.Name)
			case *ast.ValueSpec:
				for _, name := range s.Names {
					out = append(out, name.Name)
				}
			}
		}
		return out
	}
	return nil
}
