package expr

import (
	"maps"
	"slices"
	"strings"
)

// function is one function of the language.
type function struct {
	name string
	sigs []signature
	min  int // number of arguments
	max  int // -1: any
	call func(f *frame, args []any) (any, *failure)
	// fold: calls of constants are calculated when the program is built.
	fold bool
	// prepare specialises the function for constant arguments, once; nil for most.
	prepare func(fn *function, args []node) (*function, *failure)
	// use is what the function does with its arguments.
	use use
	// reads are parts of the state that the function reads by itself.
	reads []*path
}

// signature is one way to call a function, written "string, int -> string". A and B stand for any types, "A..." for one
// or more of them.
type signature struct {
	params   []*Type
	texts    []string // of params
	variadic bool
	result   *Type
}

// option changes a function when the table is made.
type option func(*function)

func folded(fn *function)  { fn.fold = true }
func passing(fn *function) { fn.use = pass }
func sizing(fn *function)  { fn.use = size }

// def makes a function from its signatures, separated by semicolons.
func def(name, sigs string, call func(f *frame, args []any) (any, *failure), options ...option) *function {
	fn := &function{name: name, call: call, min: 1 << 10}
	for _, text := range strings.Split(sigs, ";") {
		s := parseSignature(strings.TrimSpace(text))
		fn.sigs = append(fn.sigs, s)
		fn.min = min(fn.min, len(s.params))
		switch {
		case s.variadic:
			fn.max = -1
		case fn.max >= 0:
			fn.max = max(fn.max, len(s.params))
		}
	}
	for _, o := range options {
		o(fn)
	}
	return fn
}

// usage shows how to call the function: take(list<A>|string, int).
func (fn *function) usage() string {
	var ways []string
	for n := fn.min; n <= 1<<10; n++ {
		way, found := fn.usageOf(n)
		if !found {
			break
		}
		ways = append(ways, way)
		if fn.max < 0 {
			break
		}
	}
	return strings.Join(ways, " or ")
}

// usageOf is the usage with n arguments.
func (fn *function) usageOf(n int) (string, bool) {
	params := make([]string, n)
	found := false
	for _, s := range fn.sigs {
		if len(s.params) != n {
			continue
		}
		found = true
		for i, text := range s.texts {
			if !hasWord(params[i], text) {
				params[i] += "|" + text
			}
		}
	}
	for i := range params {
		params[i] = strings.TrimPrefix(params[i], "|")
	}
	return fn.name + "(" + strings.Join(params, ", ") + ")", found
}

func hasWord(list, word string) bool { return strings.Contains(list+"|", "|"+word+"|") }

// advice says what to write where argument i is of a kind the function does not take there.
func (fn *function) advice(i int, kind string) string {
	takes := func(k typeKind) bool {
		for _, s := range fn.sigs {
			if n := len(s.params); n > 0 && s.params[min(i, n-1)].kind == k {
				return true
			}
		}
		return false
	}
	switch {
	case kind == "null":
		return "give a default for what may be null: coalesce(x, …)"
	case kind == "optional":
		return "give a default with .orValue(…)"
	case fn.name == "contains" && i == 0 && (kind == "list" || kind == "map"):
		return "write item in list"
	case (kind == "list" || kind == "map") && takes(kindString):
		return "write json.encode(x) for the text of a list or map"
	case kind == "string" && takes(kindTimestamp):
		return "write timestamp(x)"
	case kind == "string" && takes(kindDuration):
		return "write duration(x)"
	}
	return "write " + fn.usage()
}

func parseSignature(text string) signature {
	params, result, ok := strings.Cut(text, "-> ")
	if !ok {
		panic("expr: signature without result: " + text)
	}
	s := signature{result: parseType(result)}
	if params == "" {
		return s
	}
	for _, p := range splitTypes(strings.TrimSpace(params)) {
		typ, variadic := strings.CutSuffix(p, "...")
		s.params, s.texts, s.variadic = append(s.params, parseType(typ)), append(s.texts, p), variadic
	}
	return s
}

// splitTypes splits at commas outside of < >.
func splitTypes(text string) []string {
	var parts []string
	depth, from := 0, 0
	for i, r := range text {
		switch r {
		case '<':
			depth++
		case '>':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, strings.TrimSpace(text[from:i]))
				from = i + 1
			}
		}
	}
	return append(parts, strings.TrimSpace(text[from:]))
}

func parseType(text string) *Type {
	head, arg, parts := strings.Cut(text, "<")
	elem := Dyn
	if parts {
		elem = parseType(strings.TrimSuffix(arg, ">"))
	}
	switch head {
	case "A", "B":
		return &Type{kind: kindVariable, fields: []field{{name: head}}}
	case "list":
		return ListOf(elem)
	case "map":
		return MapOf(elem)
	case "optional":
		return optionalOf(elem)
	case "entry":
		return Record(map[string]*Type{"key": String, "value": elem}, true)
	}
	for k, name := range kindTexts {
		if name == head && name != "" {
			return &Type{kind: typeKind(k)}
		}
	}
	panic("expr: unknown type in a signature: " + text)
}

// result is the type of a call with these arguments. It is nil if none fits; then closest says what
// argument number arg should be.
func (fn *function) result(args []*Type) (result *Type, closest string, arg int) {
	best := -1
	var wanted []string
	for i := range fn.sigs {
		s := &fn.sigs[i]
		t, at, want := s.match(args)
		switch {
		case t != nil && result == nil:
			result = t
		case t != nil:
			result = join(result, t)
		case at > best:
			best, wanted = at, []string{want}
		case at == best && at >= 0:
			wanted = append(wanted, want)
		}
	}
	return result, orList(wanted), max(best, 0)
}

func orList(words []string) string {
	var out []string
	for _, w := range words {
		if len(out) == 0 || out[len(out)-1] != w {
			out = append(out, w)
		}
	}
	if n := len(out); n > 1 {
		out = []string{strings.Join(out[:n-1], ", "), out[n-1]}
	}
	return strings.Join(out, " or ")
}

// match returns the type of the result, or else the first argument that does not fit (-1: their number) and what it
// should be.
func (s *signature) match(args []*Type) (result *Type, at int, want string) {
	n := len(s.params)
	if len(args) < n || (len(args) > n && !s.variadic) {
		return nil, -1, ""
	}
	vars := map[string]*Type{}
	for i, arg := range args {
		param := s.params[min(i, n-1)]
		if !assignable(param, arg, vars) {
			if param.kind == kindVariable {
				return nil, i, "a plain value"
			}
			return nil, i, param.withVariables(vars).String()
		}
	}
	return s.result.withVariables(vars), -1, ""
}

// assignable reports whether a value of type arg may be right where param is wanted.
func assignable(param, arg *Type, vars map[string]*Type) bool {
	arg = arg.withoutNull()
	if param.kind == kindVariable {
		name := param.fields[0].name
		if arg.kind == kindOptional {
			return false
		}
		if t := vars[name]; t != nil {
			arg = join(t, arg)
		}
		vars[name] = arg
		return true
	}
	switch {
	case arg.kind == kindDyn:
		bindDyn(param, vars)
		return true
	case param.kind == kindDyn:
		return arg.kind != kindOptional
	case param.kind == kindNumber:
		return arg.isNumber()
	case param.kind == kindInt && arg.is(kindNumber, kindUint):
		return true
	case param.kind != arg.kind:
		return false
	case param.kind == kindList || param.kind == kindOptional:
		return assignable(param.elem, arg.elem, vars)
	case param.kind == kindMap:
		return assignable(param.elem, arg.values(), vars)
	}
	return true
}

// bindDyn: what is not known of an argument is not known of the result.
func bindDyn(param *Type, vars map[string]*Type) {
	for ; param != nil; param = param.elem {
		if param.kind == kindVariable {
			vars[param.fields[0].name] = Dyn
		}
	}
}

func (t *Type) withVariables(vars map[string]*Type) *Type {
	switch {
	case t.kind == kindVariable:
		if v := vars[t.fields[0].name]; v != nil {
			return v
		}
		return Dyn
	case t.kind == kindMap && len(t.fields) > 0:
		c := *t
		c.fields = append([]field(nil), t.fields...)
		for i := range c.fields {
			c.fields[i].typ = c.fields[i].typ.withVariables(vars)
		}
		return &c
	case t.elem != nil:
		c := *t
		c.elem = t.elem.withVariables(vars)
		return &c
	}
	return t
}

// functions is the table of all functions by name. Those with a dot are called as written, the others as f(x, y)
// or x.f(y).
var functions = makeFunctions(
	valueFunctions, stringFunctions, listFunctions, mapFunctions, mathFunctions, timeFunctions, codecFunctions, optionalFunctions,
)

// functionSpaces are the first words of names with a dot.
var functionSpaces = map[string]bool{}

// functionNames are all names, of macros too, for suggestions.
var functionNames []string

func makeFunctions(groups ...[]*function) map[string]*function {
	table := map[string]*function{}
	for _, group := range groups {
		for _, fn := range group {
			if table[fn.name] != nil {
				panic("expr: two functions " + fn.name)
			}
			table[fn.name] = fn
		}
	}
	return table
}

func init() {
	macros = makeMacros()
	functionNames = append(slices.Sorted(maps.Keys(functions)), slices.Sorted(maps.Keys(macros))...)
	slices.Sort(functionNames)
	for _, name := range functionNames {
		if space, _, ok := strings.Cut(name, "."); ok {
			functionSpaces[space] = true
		}
	}
}
