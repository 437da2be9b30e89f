package tidy

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// architectureDoc holds the layout table: | `path/` | what it holds | today or to come |.
const architectureDoc = "ARCHITECTURE.md"

var layoutRow = regexp.MustCompile("^\\|\\s*`([^`]+)`\\s*\\|.*\\|\\s*(today|to come)\\s*\\|$")

// checkLayout holds the layout table to the truth: what it says exists today does, what is to come does not, and each
// package and each folder at the top has a row.
func checkLayout(r *Repo, _ *House) []Finding {
	text, err := r.Read(architectureDoc)
	if err != nil {
		return []Finding{{Path: architectureDoc, Text: err.Error()}}
	}
	var out []Finding
	var named []string
	line := 0
	for l := range strings.Lines(text) {
		line++
		m := layoutRow.FindStringSubmatch(strings.TrimSpace(l))
		if m == nil {
			continue
		}
		name := strings.TrimSuffix(m[1], "/")
		named = append(named, name)
		switch exists := r.Has(name); {
		case exists && m[2] == "to come":
			out = append(out, Finding{Path: architectureDoc, Line: line, Text: name + " exists: its row must say today"})
		case !exists && m[2] == "today":
			out = append(out, Finding{Path: architectureDoc, Line: line, Text: name + " does not exist: its row must say to come"})
		}
	}
	for _, folder := range r.layoutFolders() {
		if !slices.ContainsFunc(named, func(n string) bool { return matches(folder+"/...", n) }) {
			out = append(out, Finding{Path: architectureDoc, Text: "the layout table has no row for " + folder + "/: add | `" + folder + "/` | what it holds | today |"})
		}
	}
	return out
}

// layoutFolders lists the folders that the layout table must name: those at the top, and in place of pkg those in pkg.
func (r *Repo) layoutFolders() []string {
	var out []string
	for _, name := range r.Files {
		parts := strings.Split(name, "/")
		n := 1
		if parts[0] == "pkg" {
			n = 2
		}
		if len(parts) <= n || strings.HasPrefix(parts[0], ".") {
			continue
		}
		if folder := path.Join(parts[:n]...); !slices.Contains(out, folder) {
			out = append(out, folder)
		}
	}
	return out
}

var (
	makeTarget  = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
	fencedBlock = regexp.MustCompile("(?ms)^```.*?^```$")
	makeCommand = regexp.MustCompile("(?m)(?:^[ $]*|`)make ([a-z][a-z-]*)")
	goCommand   = regexp.MustCompile("(?m)(?:^[ $]*|`)go (?:run|test|build|install) (\\./[^\\s`]+)([^`\\n]*)")
	fileArg     = regexp.MustCompile(`(?:^|\s)@?([\w.-]+(?:/[\w.-]+)+\.\w+)`)
)

// checkCommands holds the documents' commands to the truth: make targets exist, and so do the packages and
// files that go commands name.
func checkCommands(r *Repo, _ *House) []Finding {
	makefile, err := r.Read("Makefile")
	if err != nil {
		return []Finding{{Path: "Makefile", Text: err.Error()}}
	}
	var targets []string
	for _, m := range makeTarget.FindAllStringSubmatch(makefile, -1) {
		targets = append(targets, m[1])
	}
	var out []Finding
	for _, name := range r.Files {
		if !isDocument(name) {
			continue
		}
		text, err := r.Read(name)
		if err != nil {
			out = append(out, Finding{Path: name, Text: err.Error()})
			continue
		}
		at := func(offset int) int { return 1 + strings.Count(text[:offset], "\n") }
		for _, m := range makeCommand.FindAllStringSubmatchIndex(text, -1) {
			target := text[m[2]:m[3]]
			if (text[m[0]] == '`' || inFence(text, m[0])) && !slices.Contains(targets, target) {
				out = append(out, Finding{Path: name, Line: at(m[2]), Text: "the Makefile has no target " + target + ": correct the command, or say without a command that it is to come"})
			}
		}
		for _, m := range goCommand.FindAllStringSubmatchIndex(text, -1) {
			paths := []string{strings.TrimSuffix(path.Clean(text[m[2]:m[3]]), "/...")}
			for _, arg := range fileArg.FindAllStringSubmatch(text[m[4]:m[5]], -1) {
				paths = append(paths, arg[1])
			}
			for _, p := range paths {
				if p != "..." && !r.Has(p) {
					out = append(out, Finding{Path: name, Line: at(m[2]), Text: "the command names " + p + ", which does not exist: correct it, or say without a command that it is to come"})
				}
			}
		}
	}
	return out
}

// inFence reports whether an offset lies in a fenced code block.
func inFence(text string, offset int) bool {
	return slices.ContainsFunc(fencedBlock.FindAllStringIndex(text, -1), func(span []int) bool {
		return span[0] <= offset && offset < span[1]
	})
}
