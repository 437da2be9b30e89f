package tidy

import (
	"cmp"
	"slices"
	"strings"
)

// House is what the rules need to know of a repository.
type House struct {
	// Layers say which package may import which others of the repository. The longest match counts.
	Layers []Layer
	// Core are the pure packages.
	Core []string
	// Sync are those of them that may import sync, for a cache.
	Sync []string
	// Words are patterns that no file may contain.
	Words []Word

	// WideInterfaces are the core's interfaces of more than three methods, "pkg/x.Name", each with its reason.
	WideInterfaces map[string]string
	// NoExample are public packages without an Example, each with its reason.
	NoExample map[string]string
	// Sections hold, by document, the number of requirements of each numbered section, which docs/spec-coverage.md lists.
	Sections map[string][]int
	// Issues are the names that a requirement may wait for.
	Issues []string
	// LongFiles are files over the limit of lines, each with its reason.
	LongFiles map[string]string
}

// Layer is one row of the import arrow.
type Layer struct {
	// Path is a package, or with a final "/..." that package and all below it.
	Path string
	// May are the packages of the repository that it may import, written like Path.
	May []string
	// Tests are those that only its tests may import, beside May.
	Tests []string
	// Modules are the modules from outside that it may import; nil is any.
	Modules []string
}

// Word is a pattern that no file may contain, and what it gives away.
type Word struct{ Pattern, Why string }

// Rule is one house rule.
type Rule struct {
	Name string
	// About is one line for people.
	About string
	check func(*Repo, *House) []Finding
}

// Rules are all rules, in the order in which Check runs them.
var Rules = []Rule{
	{"arrow", "imports follow the table of layers", checkArrow},
	{"pure-imports", "the core imports no clock, I/O, log or randomness", checkPureImports},
	{"pure-calls", "the core reads no clock and writes to nowhere", checkPureCalls},
	{"pure-goroutines", "the core starts no goroutines", checkGoroutines},
	{"map-order", "no iteration over a map decides anything in the core", checkMapOrder},
	{"float-fusion", "arithmetic of the core gives the same bits on every processor", checkFloatFusion},
	{"wide-interface", "interfaces of the core are small", checkWideInterfaces},
	{"package-name", "a package is named after what it provides", checkPackageNames},
	{"doc-go", "each package has a doc.go", checkDocGo},
	{"doc-comment", "exported names have doc comments", checkDocComments},
	{"example", "each public package has an Example", checkExamples},
	{"file-length", "a file is one noun", checkFileLength},
	{"linkname", "no go:linkname", checkLinkname},
	{"test-sleep", "tests do not sleep", checkTestSleep},
	{"test-skip", "a skipped test says why", checkTestSkip},
	{"words", "nothing of one machine or workplace is in the repository", checkWords},
	{"links", "relative links in documents lead somewhere", checkLinks},
	{"dependencies", "docs/dependencies.md lists what go.mod requires", checkDependencies},
	{"coverage", "docs/spec-coverage.md has each requirement once, with links that hold", checkCoverage},
	{"layout", "the layout table of ARCHITECTURE.md is true", checkLayout},
	{"commands", "commands in documents can be run", checkCommands},
}

// Check runs every rule and returns all findings, by rule and place.
func Check(r *Repo, h *House) []Finding {
	var all []Finding
	for _, rule := range Rules {
		found := rule.check(r, h)
		for i := range found {
			found[i].Rule = rule.Name
		}
		slices.SortStableFunc(found, func(a, b Finding) int {
			return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), strings.Compare(a.Text, b.Text))
		})
		all = append(all, found...)
	}
	return all
}

// matches reports whether a pattern of Layer ("pkg/x" or "pkg/x/...") covers a package.
func matches(pattern, path string) bool {
	if dir, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == dir || strings.HasPrefix(path, dir+"/")
	}
	return path == pattern
}

// layer returns the row of a package, or nil: its own, or that of the nearest folder above.
func (h *House) layer(path string) *Layer {
	var best *Layer
	for i, l := range h.Layers {
		if l.Path == path {
			return &h.Layers[i]
		}
		if matches(l.Path, path) && (best == nil || len(l.Path) > len(best.Path)) {
			best = &h.Layers[i]
		}
	}
	return best
}

// core calls yield for each pure package.
func (r *Repo) core(h *House, yield func(*Package)) {
	for _, p := range r.Packages {
		if slices.ContainsFunc(h.Core, func(c string) bool { return matches(c, p.Path) }) {
			yield(p)
		}
	}
}

// stale reports exceptions that no longer except anything: keys of a House's map that were not used.
func stale(exceptions map[string]string, used map[string]bool, name string) []Finding {
	var out []Finding
	for key, reason := range exceptions {
		if !used[key] {
			out = append(out, Finding{Path: "tidy_test.go", Text: name + " excepts " + key + ", which needs no exception: remove the line"})
		}
		if strings.TrimSpace(reason) == "" {
			out = append(out, Finding{Path: "tidy_test.go", Text: name + " excepts " + key + " without a reason: write one"})
		}
	}
	return out
}
