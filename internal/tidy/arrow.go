package tidy

import (
	"go/ast"
	"slices"
	"strings"
)

// checkArrow holds the import arrow: each package has a row in the table of layers and imports only what
// the row allows.
func checkArrow(r *Repo, h *House) []Finding {
	var out []Finding
	for _, p := range r.Packages {
		row := h.layer(p.Path)
		if row == nil {
			out = append(out, p.at("package %s is in no layer: add a row for it to the layers in tidy_test.go, as low as it can stand "+
				"(ARCHITECTURE.md, \"The import arrow\")", p.Path))
			continue
		}
		p.imports(func(f *File, spec *ast.ImportSpec, path string) {
			if text := row.refuses(r.Module, p.Path, path, f.Test); text != "" {
				out = append(out, f.at(spec.Pos(), "%s", text))
			}
		})
	}
	return out
}

// refuses says why a package of this layer may not import path, or nothing if it may.
func (l *Layer) refuses(module, from, path string, test bool) string {
	to, own := strings.CutPrefix(path, module+"/")
	switch {
	case own && to == from: // an external test of the package itself
		return ""
	case own:
		may := l.May
		if test {
			may = slices.Concat(l.May, l.Tests)
		}
		if slices.ContainsFunc(may, func(m string) bool { return matches(m, to) }) {
			return ""
		}
		return from + " may not import " + to + ": it would turn the import arrow round. Move what is needed down into a package that " +
			"both may import, or take it as an interface of at most three methods defined here"
	case test || l.Modules == nil || !strings.Contains(strings.SplitN(path, "/", 2)[0], "."):
		return ""
	case slices.ContainsFunc(l.Modules, func(m string) bool { return matches(m+"/...", path) }):
		return ""
	}
	return from + " may not import " + path + ": this package stands low and keeps its dependencies few. " +
		"Do without, or add the module to its row in tidy_test.go with a reason in docs/dependencies.md"
}
