package tidy

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// impureImports are packages of the standard library through which the world comes in. A name stands
// for all below it too.
var impureImports = []string{
	"context", "crypto/rand", "database", "expvar", "io/fs", "io/ioutil", "log", "math/rand", "net", "os",
	"plugin", "runtime", "sync", "syscall", "testing", "unsafe",
}

// impureUses are functions and variables of packages that the core may import, which read or write the world.
var impureUses = map[string]string{
	"time.Now":          "take the time from the input (event.At)",
	"time.Since":        "subtract from the time of the input (event.At)",
	"time.Until":        "subtract from the time of the input (event.At)",
	"time.After":        "emit a command that sets a timer",
	"time.AfterFunc":    "emit a command that sets a timer",
	"time.Tick":         "emit a command that sets a timer",
	"time.NewTicker":    "emit a command that sets a timer",
	"time.NewTimer":     "emit a command that sets a timer",
	"time.Sleep":        "emit a command that sets a timer",
	"time.Local":        "use time.UTC: the local zone differs from machine to machine",
	"time.LoadLocation": "use time.LoadLocationFromTZData on embedded data: the zone files differ from machine to machine",
	"time.Parse":        "use time.ParseInLocation with time.UTC: Parse may answer in the local zone",
	"fmt.Print":         "return the text: the core writes to nowhere",
	"fmt.Printf":        "return the text: the core writes to nowhere",
	"fmt.Println":       "return the text: the core writes to nowhere",
	"fmt.Scan":          "take the text as an argument",
	"fmt.Scanf":         "take the text as an argument",
	"fmt.Scanln":        "take the text as an argument",
}

// localTimes are functions whose result stands in the local zone, unless .UTC() or .In(zone) follows at once.
var localTimes = []string{"time.Unix", "time.UnixMilli", "time.UnixMicro"}

// inexact are functions of math whose last digit differs from processor to processor: some are written in assembly,
// others leave fused multiplication to the compiler.
var inexact = []string{
	"Acos", "Acosh", "Asin", "Asinh", "Atan", "Atan2", "Atanh", "Cbrt", "Cos", "Cosh", "Erf", "Erfc", "Exp", "Exp2", "Expm1",
	"Gamma", "Hypot", "J0", "J1", "Jn", "Lgamma", "Log", "Log10", "Log1p", "Log2", "Pow", "Sin", "Sincos", "Sinh", "Tan", "Tanh",
	"Y0", "Y1", "Yn",
}

// impureMethods are the same for methods.
var impureMethods = map[string]string{
	"(time.Time).Local": "use UTC: the local zone differs from machine to machine",
}

func checkPureImports(r *Repo, h *House) []Finding {
	var out []Finding
	r.core(h, func(p *Package) {
		p.imports(func(f *File, spec *ast.ImportSpec, path string) {
			impure := slices.ContainsFunc(impureImports, func(name string) bool { return matches(name+"/...", path) })
			if f.Test || !impure || path == "sync" && slices.Contains(h.Sync, p.Path) {
				return
			}
			out = append(out, f.at(spec.Pos(), "the core is pure, %s may not import %s: let the shell (pkg/worker) do it and pass the result in", p.Path, path))
		})
	})
	return out
}

func checkPureCalls(r *Repo, h *House) []Finding {
	var out []Finding
	harmless := map[ast.Node]bool{} // names of functions whose result does not stay in the local zone; a parent is visited first
	r.inspectCore(h, func(p *Package, f *File, n ast.Node) {
		switch n := n.(type) {
		case *ast.CallExpr:
			if name := p.callee(n); name == "(time.Time).UTC" || name == "(time.Time).In" {
				if inner, ok := ast.Unparen(n.Fun.(*ast.SelectorExpr).X).(*ast.CallExpr); ok {
					harmless[calleeIdent(inner)] = slices.Contains(localTimes, p.callee(inner))
				}
			}
		case *ast.AssignStmt:
			if call, ok := n.Rhs[0].(*ast.CallExpr); ok && p.callee(call) == "time.Parse" && isBlank(n.Lhs[0]) {
				harmless[calleeIdent(call)] = true
			}
		}
		id, ok := n.(*ast.Ident)
		if !ok || harmless[id] {
			return
		}
		if what, instead := impure(p.Info.Uses[id]); instead != "" {
			out = append(out, f.at(id.Pos(), "the core is pure, %s may not use %s: %s", p.Path, what, instead))
		}
	})
	return out
}

func isBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}

// impure returns the full name of an object that reads or writes the world, and what to use instead.
func impure(obj types.Object) (what, instead string) {
	switch obj := obj.(type) {
	case *types.Func:
		if obj.Signature().Recv() != nil {
			return obj.FullName(), impureMethods[obj.FullName()]
		}
		name := obj.FullName()
		short, ok := strings.CutPrefix(name, "math.")
		switch {
		case ok && slices.Contains(inexact, short):
			return name, "compute it by +, -, * and /: its last digit differs from processor to processor"
		case slices.Contains(localTimes, name):
			return name, "put .UTC() or .In(zone) behind it: the local zone differs from machine to machine"
		}
		return name, impureUses[name]
	case *types.Var:
		if obj.Pkg() != nil && obj.Parent() == obj.Pkg().Scope() {
			name := obj.Pkg().Path() + "." + obj.Name()
			return name, impureUses[name]
		}
	case *types.Builtin:
		if obj.Name() == "print" || obj.Name() == "println" {
			return obj.Name(), "return the text: the core writes to nowhere"
		}
	}
	return "", ""
}

func checkGoroutines(r *Repo, h *House) []Finding {
	var out []Finding
	r.inspectCore(h, func(p *Package, f *File, n ast.Node) {
		switch n.(type) {
		case *ast.GoStmt:
			out = append(out, f.at(n.Pos(), "the core is pure, %s may not start a goroutine: its order would reach the result", p.Path))
		case *ast.SelectStmt:
			out = append(out, f.at(n.Pos(), "the core is pure, %s may not select: which case is ready would reach the result", p.Path))
		}
	})
	return out
}

// orderFree is the comment that says why the order of an iteration does not matter.
const orderFree = "order-free:"

func checkMapOrder(r *Repo, h *House) []Finding {
	var out []Finding
	sorted := map[ast.Node]bool{} // iterators that are put in order at once; a parent is visited first
	r.inspectCore(h, func(p *Package, f *File, n ast.Node) {
		if call, ok := n.(*ast.CallExpr); ok && strings.HasPrefix(p.callee(call), "slices.Sorted") {
			sorted[ast.Unparen(call.Args[0])] = true
		}
		what := p.unordered(n)
		if what == "" || sorted[n] || f.commented(n, orderFree) {
			return
		}
		out = append(out, f.at(n.Pos(), "%s has another order each time: iterate over sorted keys (slices.Sorted(maps.Keys(m))), use maps.Copy to copy, or say in a comment "+
			"on this line \"// %s why the order cannot reach the result\"", what, orderFree))
	})
	return out
}

// unordered names what a node does if it iterates in random order.
func (p *Package) unordered(n ast.Node) string {
	switch n := n.(type) {
	case *ast.RangeStmt:
		if _, ok := coreType(p.Info.TypeOf(n.X)).(*types.Map); ok {
			return "range over a map"
		}
	case *ast.CallExpr:
		switch name := p.callee(n); name {
		case "maps.Keys", "maps.Values", "maps.All", "(reflect.Value).MapRange", "(reflect.Value).MapKeys", "(*sync.Map).Range":
			return name
		}
	}
	return ""
}

// callee returns the full name of the function that a call names, without type arguments.
func (p *Package) callee(call *ast.CallExpr) string {
	if fn, ok := p.Info.Uses[calleeIdent(call)].(*types.Func); ok {
		return fn.Origin().FullName()
	}
	return ""
}

// calleeIdent returns the last name of what is called, or nil.
func calleeIdent(call *ast.CallExpr) *ast.Ident {
	fun := ast.Unparen(call.Fun)
	switch index := fun.(type) {
	case *ast.IndexExpr:
		fun = index.X
	case *ast.IndexListExpr:
		fun = index.X
	}
	switch fun := fun.(type) {
	case *ast.Ident:
		return fun
	case *ast.SelectorExpr:
		return fun.Sel
	}
	return nil
}

// checkFloatFusion finds x*y + z on floats: some processors compute it with one rounding, others with two. A conversion
// (float64(x*y) + z) makes it two everywhere.
func checkFloatFusion(r *Repo, h *House) []Finding {
	var out []Finding
	r.inspectCore(h, func(p *Package, f *File, n ast.Node) {
		var operands []ast.Expr
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.ADD || n.Op == token.SUB {
				operands = []ast.Expr{n.X, n.Y}
			}
		case *ast.AssignStmt:
			if n.Tok == token.ADD_ASSIGN || n.Tok == token.SUB_ASSIGN {
				operands = n.Rhs
			}
		}
		for _, e := range operands {
			product, ok := ast.Unparen(e).(*ast.BinaryExpr)
			if !ok || product.Op != token.MUL {
				continue
			}
			tv := p.Info.Types[product]
			if basic, ok := tv.Type.Underlying().(*types.Basic); ok && basic.Info()&types.IsFloat != 0 && tv.Value == nil {
				out = append(out, f.at(product.Pos(), "a product and a sum of floats may be fused into one rounding, on some processors: write float64(x*y) + z"))
			}
		}
	})
	return out
}

// coreType is the type behind names and type parameters, nil if a type parameter has several.
func coreType(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	param, ok := types.Unalias(t).(*types.TypeParam)
	if !ok {
		return t.Underlying()
	}
	constraint, ok := param.Constraint().Underlying().(*types.Interface)
	if !ok || constraint.NumEmbeddeds() != 1 {
		return nil
	}
	if union, ok := constraint.EmbeddedType(0).(*types.Union); ok {
		if union.Len() != 1 {
			return nil
		}
		return union.Term(0).Type().Underlying()
	}
	return constraint.EmbeddedType(0).Underlying()
}

// inspectCore calls visit for each node of each non-test file of the core.
func (r *Repo) inspectCore(h *House, visit func(*Package, *File, ast.Node)) {
	r.core(h, func(p *Package) {
		if p.Info == nil {
			return
		}
		for _, f := range p.Files {
			if f.Test {
				continue
			}
			ast.Inspect(f.AST, func(n ast.Node) bool { visit(p, f, n); return true })
		}
	})
}

// commented reports whether a comment with this word and a reason stands on the node's first line or the one above.
func (f *File) commented(n ast.Node, word string) bool {
	line := f.line(n.Pos())
	for _, group := range f.AST.Comments {
		for _, c := range group.List {
			_, reason, found := strings.Cut(c.Text, word)
			if l := f.line(c.Pos()); found && strings.TrimSpace(reason) != "" && (l == line || l == line-1) {
				return true
			}
		}
	}
	return false
}
