package tidy

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// vagueNames say nothing about what a package provides, so anything would end up there.
var vagueNames = []string{"base", "common", "helper", "helpers", "lib", "misc", "shared", "types", "util", "utils"}

func checkPackageNames(r *Repo, _ *House) []Finding {
	var out []Finding
	for _, p := range r.Packages {
		if slices.Contains(vagueNames, strings.TrimSuffix(p.Name, "_test")) {
			out = append(out, p.at("package name %s says nothing: name it after what it provides, or put its content where it is used", p.Name))
		}
	}
	return out
}

func checkDocGo(r *Repo, _ *House) []Finding {
	var out []Finding
	for _, p := range r.Packages {
		if p.Types == nil { // tests only
			continue
		}
		i := slices.IndexFunc(p.Files, func(f *File) bool { return strings.HasSuffix(f.Path, "/doc.go") || f.Path == "doc.go" })
		if p.Name == "main" && i < 0 { // a command is described where its main stands
			i = slices.IndexFunc(p.Files, func(f *File) bool { return f.AST.Doc != nil })
		}
		if i < 0 || p.Files[i].AST.Doc == nil {
			out = append(out, p.at("package %s has no doc.go with a package comment: write what it provides, what it knows nothing of, and where to start reading", p.Path))
		}
	}
	return out
}

func checkDocComments(r *Repo, _ *House) []Finding {
	var out []Finding
	for _, p := range r.Packages {
		if p.Name == "main" {
			continue
		}
		for _, f := range p.Files {
			if f.Test || ast.IsGenerated(f.AST) {
				continue
			}
			for _, decl := range f.AST.Decls {
				for _, id := range undocumented(decl) {
					out = append(out, f.at(id.Pos(), "exported %s has no doc comment: say what goes in and out, units, errors, and the section of the "+
						"specification it implements", id.Name))
				}
			}
		}
	}
	return out
}

// undocumented returns the exported names of a declaration that have no comment. One comment does for a group of
// constants or variables, but not for a group of types.
func undocumented(decl ast.Decl) []*ast.Ident {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && (d.Recv == nil || receiverExported(d.Recv)) {
			return []*ast.Ident{d.Name}
		}
	case *ast.GenDecl:
		var out []*ast.Ident
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && s.Doc == nil && s.Comment == nil && (d.Doc == nil || d.Lparen.IsValid()) {
					out = append(out, s.Name)
				}
			case *ast.ValueSpec:
				if d.Doc != nil || s.Doc != nil || s.Comment != nil {
					continue
				}
				for _, name := range s.Names {
					if name.IsExported() {
						out = append(out, name)
					}
				}
			}
		}
		return out
	}
	return nil
}

func receiverExported(recv *ast.FieldList) bool { return ast.IsExported(receiverName(recv)) }

// receiverName returns the name of a method's type, without pointer and type parameters.
func receiverName(recv *ast.FieldList) string {
	t := recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

func checkExamples(r *Repo, h *House) []Finding {
	var out []Finding
	used := map[string]bool{}
	for _, p := range r.Packages {
		if p.Name == "main" || p.Types == nil || !strings.HasPrefix(p.Path, "pkg/") || strings.Contains(p.Path, "/internal/") || p.hasExample() {
			continue
		}
		if _, ok := h.NoExample[p.Path]; ok {
			used[p.Path] = true
			continue
		}
		out = append(out, p.at("public package %s has no Example: write example_test.go with the first thing that a user of it does", p.Path))
	}
	return append(out, stale(h.NoExample, used, "NoExample")...)
}

func (p *Package) hasExample() bool {
	return slices.ContainsFunc(p.Files, func(f *File) bool {
		return f.Test && slices.ContainsFunc(f.AST.Decls, func(d ast.Decl) bool {
			fn, ok := d.(*ast.FuncDecl)
			return ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Example")
		})
	})
}

// maxInterface is the number of methods beyond which an interface hides several roles.
const maxInterface = 3

func checkWideInterfaces(r *Repo, h *House) []Finding {
	var out []Finding
	used := map[string]bool{}
	r.inspectCore(h, func(p *Package, f *File, n ast.Node) {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return
		}
		iface, ok := p.Info.Defs[spec.Name].Type().Underlying().(*types.Interface)
		if !ok || iface.NumMethods() <= maxInterface {
			return
		}
		name := p.Path + "." + spec.Name.Name
		if _, ok := h.WideInterfaces[name]; ok {
			used[name] = true
			return
		}
		out = append(out, f.at(spec.Pos(), "interface %s has %d methods, more than %d: split it by who calls what, or list it with a reason in tidy_test.go",
			name, iface.NumMethods(), maxInterface))
	})
	return append(out, stale(h.WideInterfaces, used, "WideInterfaces")...)
}

// maxLines is a limit with room: a usual file has about 300 lines.
const maxLines = 700

func checkFileLength(r *Repo, h *House) []Finding {
	var out []Finding
	used := map[string]bool{}
	for _, p := range r.Packages {
		for _, f := range p.Files {
			lines := f.line(f.AST.FileEnd)
			if f.Test || ast.IsGenerated(f.AST) || lines <= maxLines {
				continue
			}
			if _, ok := h.LongFiles[f.Path]; ok {
				used[f.Path] = true
				continue
			}
			out = append(out, f.at(f.AST.Package, "the file has %d lines, more than %d: a file is one noun or one family, so move a family out", lines, maxLines))
		}
	}
	return append(out, stale(h.LongFiles, used, "LongFiles")...)
}

func checkLinkname(r *Repo, _ *House) []Finding {
	var out []Finding
	for _, p := range r.Packages {
		for _, f := range p.Files {
			for _, group := range f.AST.Comments {
				for _, c := range group.List {
					if strings.HasPrefix(c.Text, "//go:linkname") {
						out = append(out, f.at(c.Pos(), "go:linkname reaches into another package's insides: use what it exports"))
					}
				}
			}
		}
	}
	return out
}

func checkTestSleep(r *Repo, _ *House) []Finding {
	return r.inspectTests(func(f *File, call *ast.CallExpr) string {
		if isSelector(call.Fun, "time", "Sleep") {
			return "a test that sleeps is slow or flaky: wait for what you wait for, or use a virtual clock (testing/synctest)"
		}
		return ""
	})
}

func checkTestSkip(r *Repo, _ *House) []Finding {
	return r.inspectTests(func(f *File, call *ast.CallExpr) string {
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return ""
		}
		switch sel.Sel.Name {
		case "SkipNow":
		case "Skip", "Skipf":
			if len(call.Args) > 0 && !isEmptyString(call.Args[0]) {
				return ""
			}
		default:
			return ""
		}
		return "a skipped test must say why, or nobody learns that it never runs: t.Skip(\"needs a C compiler\")"
	})
}

// inspectTests calls refuse for each call in a test file; what it returns becomes a finding.
func (r *Repo) inspectTests(refuse func(*File, *ast.CallExpr) string) []Finding {
	var out []Finding
	for _, p := range r.Packages {
		for _, f := range p.Files {
			if !f.Test {
				continue
			}
			ast.Inspect(f.AST, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					if text := refuse(f, call); text != "" {
						out = append(out, f.at(call.Pos(), "%s", text))
					}
				}
				return true
			})
		}
	}
	return out
}

func isSelector(e ast.Expr, pkg, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == pkg
}

func isEmptyString(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && lit.Kind == token.STRING && strings.Trim(lit.Value, "\"` ") == ""
}
