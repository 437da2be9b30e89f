package expr

import (
	"strings"

	"cel.dev/cel-go/common/ast"
)

// macro is a function whose arguments are not simply evaluated. Its usage is that of a function.
type macro struct {
	usage string
	build func(b *builder, name string, at place, args []ast.Expr) node
}

// macros by name. It is made by init, since macros build nodes of macros.
var macros map[string]*macro

func makeMacros() map[string]*macro {
	return map[string]*macro{
		"has":        {"has(x.field), or x[?key].hasValue()", buildHas},
		"cel.bind":   {"cel.bind(x, value, …)", buildBind},
		"coalesce":   {"coalesce(a, b, …)", buildCoalesce},
		"orValue":    {"optional.orValue(default)", buildOr},
		"or":         {"optional.or(optional)", buildOr},
		"optMap":     {"optional.optMap(x, …)", buildOptMap},
		"optFlatMap": {"optional.optFlatMap(x, …)", buildOptMap},

		"all":        {"list.all(x, …) or .all(i, x, …)", loopMacro(1, 2, 1, 1, buildQuantifier)},
		"exists":     {"list.exists(x, …) or .exists(i, x, …)", loopMacro(1, 2, 1, 1, buildQuantifier)},
		"exists_one": {"list.exists_one(x, …)", loopMacro(1, 2, 1, 1, buildQuantifier)},
		"existsOne":  {"list.existsOne(x, …) or .existsOne(i, x, …)", loopMacro(1, 2, 1, 1, buildQuantifier)},
		"map":        {"list.map(x, …) or .map(x, condition, …)", loopMacro(1, 1, 1, 2, buildMapping)},
		"filter":     {"list.filter(x, condition)", loopMacro(1, 1, 1, 1, buildFilter)},
		"find":       {"find(list, x, condition)", loopMacro(1, 1, 1, 1, buildFind)},
		"sortBy":     {"list.sortBy(x, key)", loopMacro(1, 1, 1, 1, buildSortBy)},

		"transformList":     {"map.transformList(k, v, …) or .transformList(k, v, condition, …)", loopMacro(2, 2, 1, 2, buildMapping)},
		"transformMap":      {"map.transformMap(k, v, …) or .transformMap(k, v, condition, …)", loopMacro(2, 2, 1, 2, buildRemapping)},
		"transformMapEntry": {"map.transformMapEntry(k, v, {…}) or .transformMapEntry(k, v, condition, {…})", loopMacro(2, 2, 1, 2, buildRemapping)},
	}
}

func (b *builder) misuse(name string, at place) node {
	return b.flaw(failf(CodeSyntax, "%s is not used like this", name).or("write %s", macros[name].usage).placed(at))
}

// loopMacro builds macros of the form over.name(names…, bodies…).
func loopMacro(leastNames, mostNames, leastBodies, mostBodies int, build func(name string, l loop, bodies []node) node) func(*builder, string, place, []ast.Expr) node {
	return func(b *builder, name string, at place, args []ast.Expr) node {
		if len(args) < 1+leastNames+leastBodies || len(args) > 1+mostNames+mostBodies {
			return b.misuse(name, at)
		}
		names := leastNames
		if leastNames < mostNames && len(args) == 1+mostNames+leastBodies {
			names = mostNames
		}
		if len(args) > 1+names+mostBodies {
			return b.misuse(name, at)
		}
		vars, ok := b.variables(args[1 : 1+names])
		if !ok {
			return b.misuse(name, at)
		}
		l := loop{place: at, over: b.node(args[0]), second: -1}
		before := b.nodes
		var bodies []node
		l.first = b.bind(vars, func() { bodies = b.nodesOf(args[1+names:]) })
		if names == 2 {
			l.second = l.first + 1
		}
		l.body = 2 + b.nodes - before
		return build(name, l, bodies)
	}
}

// variables reads the names that a macro binds.
func (b *builder) variables(args []ast.Expr) (names []string, ok bool) {
	for _, arg := range args {
		if arg.Kind() != ast.IdentKind || strings.HasPrefix(arg.AsIdent(), ".") {
			return nil, false
		}
		names = append(names, arg.AsIdent())
	}
	if len(names) == 2 && names[0] == names[1] {
		return nil, false
	}
	return names, true
}

func buildQuantifier(name string, l loop, bodies []node) node {
	kind := existsOne
	switch name {
	case "all":
		kind = all
	case "exists":
		kind = exists
	}
	return &quantifier{loop: l, kind: kind, test: bodies[0]}
}

func buildMapping(_ string, l loop, bodies []node) node {
	if len(bodies) == 2 {
		return &mapping{loop: l, test: bodies[0], make: bodies[1]}
	}
	return &mapping{loop: l, make: bodies[0]}
}

func buildFilter(_ string, l loop, bodies []node) node { return &mapping{loop: l, test: bodies[0]} }

func buildFind(_ string, l loop, bodies []node) node { return &finding{loop: l, test: bodies[0]} }

func buildSortBy(_ string, l loop, bodies []node) node { return &sorting{loop: l, key: bodies[0]} }

func buildRemapping(name string, l loop, bodies []node) node {
	n := &remapping{loop: l, make: bodies[0], entries: name == "transformMapEntry"}
	if len(bodies) == 2 {
		n.test, n.make = bodies[0], bodies[1]
	}
	return n
}

func buildHas(b *builder, name string, at place, args []ast.Expr) node {
	if len(args) != 1 {
		return b.misuse(name, at)
	}
	n, ok := b.node(args[0]).(*access)
	if !ok {
		return b.misuse(name, at)
	}
	n.opt, n.test = false, true
	return n
}

func buildBind(b *builder, name string, at place, args []ast.Expr) node {
	if len(args) != 3 {
		return b.misuse(name, at)
	}
	vars, ok := b.variables(args[:1])
	if !ok {
		return b.misuse(name, at)
	}
	n := &binding{place: at}
	slots := b.apart(func() { n.init = b.node(args[1]) })
	n.slot = b.bind(append(slots, vars...), func() { n.body = b.node(args[2]) }) + len(slots)
	return n
}

func buildCoalesce(b *builder, name string, at place, args []ast.Expr) node {
	if len(args) == 0 {
		return b.misuse(name, at)
	}
	n := &choice{place: at, of: b.nodesOf(args)}
	for _, of := range n.of {
		lenient(of)
	}
	return n
}

func buildOr(b *builder, name string, at place, args []ast.Expr) node {
	if len(args) != 2 {
		return b.misuse(name, at)
	}
	n := &choice{place: at, of: b.nodesOf(args), keep: name == "or"}
	lenient(n.of[0])
	return n
}

func buildOptMap(b *builder, name string, at place, args []ast.Expr) node {
	if len(args) != 3 {
		return b.misuse(name, at)
	}
	vars, ok := b.variables(args[1:2])
	if !ok {
		return b.misuse(name, at)
	}
	n := &optionalMapping{place: at, of: b.node(args[0]), flat: name == "optFlatMap"}
	lenient(n.of)
	n.slot = b.bind(vars, func() { n.body = b.node(args[2]) })
	return n
}
