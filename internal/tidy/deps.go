package tidy

import (
	"bufio"
	"fmt"
	"regexp"
	"strings"
)

var (
	requireLine = regexp.MustCompile(`^(?:require\s+)?([^\s()]+\.[^\s()]+)\s+(v\S+)$`)
	toolLine    = regexp.MustCompile(`^(?:tool\s+)?([^\s()]+\.[^\s()]+)$`)
	depRow      = regexp.MustCompile("^\\|\\s*`?([^|`\\s]+\\.[^|`\\s]+/?[^|`\\s]*)`?\\s*\\|\\s*(v[^|\\s]+)\\s*\\|([^|]*)\\|([^|]*)\\|")
)

// dependenciesDoc lists what the project depends on, and why.
const dependenciesDoc = "docs/dependencies.md"

// checkDependencies compares docs/dependencies.md with the direct requirements of go.mod and with the tools of
// tools/go.mod, both ways, versions included.
func checkDependencies(r *Repo, _ *House) []Finding {
	want := map[string]string{}
	for _, mod := range []string{"go.mod", "tools/go.mod"} {
		if !r.Has(mod) {
			continue
		}
		text, err := r.Read(mod)
		if err != nil {
			return []Finding{{Path: mod, Text: err.Error()}}
		}
		readRequirements(text, want)
	}
	text, err := r.Read(dependenciesDoc)
	if err != nil {
		return []Finding{{Path: dependenciesDoc, Text: "the file is missing: it lists each direct dependency as | module | version | licence | why |"}}
	}
	var out []Finding
	line := 0
	for scan := bufio.NewScanner(strings.NewReader(text)); scan.Scan(); {
		line++
		m := depRow.FindStringSubmatch(scan.Text())
		if m == nil {
			continue
		}
		switch version, ok := want[m[1]]; {
		case !ok:
			out = append(out, Finding{Path: dependenciesDoc, Line: line, Text: m[1] + " is no direct dependency in go.mod, nor a tool: remove the row"})
		case version != m[2]:
			out = append(out, Finding{Path: dependenciesDoc, Line: line, Text: fmt.Sprintf("%s is at %s in go.mod, not at %s: correct the row", m[1], version, m[2])})
		case strings.TrimSpace(m[3]) == "" || strings.TrimSpace(m[4]) == "":
			out = append(out, Finding{Path: dependenciesDoc, Line: line, Text: m[1] + " has no licence or no reason: fill it in"})
		}
		delete(want, m[1])
	}
	for module, version := range want {
		out = append(out, Finding{Path: dependenciesDoc, Text: fmt.Sprintf("%s %s is required by go.mod but has no row: | %s | %s | licence | why |",
			module, version, module, version)})
	}
	return out
}

// readRequirements adds to want the direct requirements of a go.mod and the modules of its tools, with versions.
func readRequirements(mod string, want map[string]string) {
	all := map[string]string{}
	var tools []string
	for line := range strings.Lines(mod) {
		line, comment, _ := strings.Cut(strings.TrimSpace(line), "//")
		line = strings.TrimSpace(line)
		if m := requireLine.FindStringSubmatch(line); m != nil && m[1] != "module" {
			all[m[1]] = m[2]
			if strings.TrimSpace(comment) != "indirect" {
				want[m[1]] = m[2]
			}
		} else if m := toolLine.FindStringSubmatch(line); m != nil {
			tools = append(tools, m[1])
		}
	}
	for _, tool := range tools {
		for module, version := range all {
			if matches(module+"/...", tool) {
				want[module] = version
			}
		}
	}
}
