package expr

import "strconv"

// Flow is a value that an expression or template hands on whole: Read leads to it (Pass is set), To is the place in the
// result where it stands. An element "*" of To stands for keys or indexes that only a run can tell.
type Flow struct {
	Read
	To []string
}

// AnyKey is the element of Flow.To that stands for any key or index.
const AnyKey = "*"

// Flows lists the values that the expression hands on, in the order of its text.
func (e *Expr) Flows() []Flow {
	f := &flowSet{}
	f.walk(e.prog.root, nil)
	return f.list
}

// Flows lists the values that the template hands on, in the order of its tree.
func (t *Template) Flows() []Flow {
	var all []Flow
	for _, l := range t.prog.leaves {
		if l.typed && !l.defers {
			f := &flowSet{}
			f.walk(l.progs[0].root, splitPointer(l.pointer))
			all = append(all, f.list...)
		}
	}
	return all
}

// flowSet collects flows. It follows just what hands values on (readSet.walk with pass).
type flowSet struct {
	readSet
	list []Flow
}

func (f *flowSet) walk(n node, to []string) {
	if p := f.path(n); p != nil {
		if a, ok := n.(*access); !ok || !a.test {
			f.list = append(f.list, Flow{Read{Root: p.root, Path: p.keys, Pass: true}, to})
		}
		return
	}
	below := func(key string) []string { return append(to[:len(to):len(to)], key) }
	switch n := n.(type) {
	case *listLiteral:
		for i, item := range n.items {
			key := strconv.Itoa(i)
			if n.optional != nil {
				key = AnyKey // what is left out moves the others
			}
			f.walk(item, below(key))
		}
	case *mapLiteral:
		for _, e := range n.entries {
			key, ok := constantKey(e.key)
			if !ok || isSpecialKey(key) {
				key = AnyKey
			}
			f.walk(e.val, below(key))
		}
	case *conditional:
		f.walk(n.yes, to)
		f.walk(n.no, to)
	case *call:
		if n.fn.use == pass {
			for _, arg := range n.args {
				f.walk(arg, to)
			}
		}
	case *choice:
		for _, one := range n.of {
			f.walk(one, to)
		}
	case *binding:
		f.alias(n.slot, f.path(n.init))
		f.walk(n.body, to)
	case *optionalMapping:
		f.alias(n.slot, f.path(n.of))
		f.walk(n.body, to)
	}
}
