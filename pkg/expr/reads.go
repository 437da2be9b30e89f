package expr

import (
	"sort"
	"strconv"
	"strings"
)

// Read is one part of the state that an expression reads: input.items[0].sku is {input, [items 0 sku]}. Where a
// path goes on in a way only a run can tell (an index that is computed, a macro over the list), it ends before.
type Read struct {
	Root string
	Path []string
	// Pass means that the value is only handed on, never looked into: it may stay a reference.
	Pass bool
	// Size means that of the value only its size or its presence is asked, and that it may be handed on.
	Size bool
}

// String is the path with dots; a mark says how much of the value is read: "input.items (size)".
func (r Read) String() string {
	s := strings.Join(append([]string{r.Root}, r.Path...), ".")
	switch {
	case r.Size:
		return s + " (size)"
	case r.Pass:
		return s + " (pass)"
	}
	return s
}

// use is what an expression does with a value.
type use byte

const (
	look use = iota // read its content
	pass            // hand it on
	size            // ask its size, or whether it is there
)

// readsOf lists what a program reads, sorted; parts of what is read anyway are left out.
func readsOf(n node) []Read {
	r := &readSet{}
	r.walk(n, pass)
	return mergeReads(r.list)
}

// mergeReads sorts reads and leaves out what others cover.
func mergeReads(list []Read) []Read {
	list = append([]Read(nil), list...)
	sort.SliceStable(list, func(i, j int) bool { return lessRead(list[i], list[j]) })
	var out []Read
	var around []Read // reads of the path of the one at hand and of what leads to it
	for _, r := range list {
		for len(around) > 0 && !around[len(around)-1].leadsTo(r) {
			around = around[:len(around)-1]
		}
		covered := false
		for _, o := range around {
			covered = covered || o.covers(r)
		}
		if !covered {
			out = append(out, r)
			around = append(around, r)
		}
	}
	return out
}

func lessRead(a, b Read) bool {
	if a.Root != b.Root {
		return a.Root < b.Root
	}
	for i := range min(len(a.Path), len(b.Path)) {
		if a.Path[i] != b.Path[i] {
			return a.Path[i] < b.Path[i]
		}
	}
	if len(a.Path) != len(b.Path) {
		return len(a.Path) < len(b.Path)
	}
	return a.rank() < b.rank()
}

// rank orders reads of one path by how much they need.
func (r Read) rank() int {
	switch {
	case r.Size:
		return 1
	case r.Pass:
		return 2
	}
	return 0
}

// leadsTo reports whether the path of o begins with that of r.
func (r Read) leadsTo(o Read) bool {
	if r.Root != o.Root || len(r.Path) > len(o.Path) {
		return false
	}
	for i, key := range r.Path {
		if o.Path[i] != key {
			return false
		}
	}
	return true
}

// covers reports whether what r needs includes what o needs, where r leads to o.
func (r Read) covers(o Read) bool {
	if len(r.Path) < len(o.Path) {
		return r.rank() == 0
	}
	return r.rank() <= o.rank()
}

// readSet collects reads.
type readSet struct {
	list    []Read
	aliases []*path // by slot: the path that a local name stands for, or nil
}

// path is a static path from a root name.
type path struct {
	root string
	keys []string
}

func (r *readSet) add(p *path, u use) {
	r.list = append(r.list, Read{Root: p.root, Path: p.keys, Pass: u == pass, Size: u == size})
}

// path returns the path that n is, or nil. Index expressions that are computed end it.
func (r *readSet) path(n node) *path {
	var of node
	var key string
	switch n := n.(type) {
	case *rootName:
		return &path{root: n.name}
	case *localName:
		if n.slot < len(r.aliases) {
			return r.aliases[n.slot]
		}
		return nil
	case *access:
		of, key = n.of, n.key
	case *indexing:
		k, ok := constantIndex(n.index)
		if !ok {
			return nil
		}
		of, key = n.of, k
	default:
		return nil
	}
	p := r.path(of)
	if p == nil {
		return nil
	}
	return &path{p.root, append(p.keys[:len(p.keys):len(p.keys)], key)}
}

// constantIndex is the path element of an index: decimal for list items.
func constantIndex(n node) (string, bool) {
	l, ok := n.(*literal)
	if !ok {
		return "", false
	}
	switch v := l.val.(type) {
	case string:
		return v, true
	case int64:
		return strconv.FormatInt(v, 10), v >= 0
	}
	return "", false
}

func (r *readSet) walk(n node, u use) {
	if p := r.path(n); p != nil {
		if a, ok := n.(*access); ok && a.test || u == pass && asksPresence(n) {
			u = size
		}
		r.add(p, u)
		return
	}
	switch n := n.(type) {
	case *access:
		r.walk(n.of, look)
	case *indexing:
		r.walk(n.of, look)
		r.walk(n.index, look)
	case *listLiteral:
		r.walkAll(n.items, u)
	case *mapLiteral:
		for _, e := range n.entries {
			r.walk(e.key, look)
			r.walk(e.val, u)
		}
	case *conditional:
		r.walk(n.cond, look)
		r.walk(n.yes, u)
		r.walk(n.no, u)
	case *logic:
		r.walkAll([]node{n.l, n.r}, look)
	case *not:
		r.walk(n.of, look)
	case *negation:
		r.walk(n.of, look)
	case *operation:
		r.walkAll([]node{n.l, n.r}, look)
	case *comparison:
		r.walkComparison(n)
	case *membership:
		r.walkAll([]node{n.l, n.r}, look)
	case *call:
		r.walkCall(n, u)
	default:
		r.walkMacro(n, u)
	}
}

// asksPresence reports whether a path asks if something is there: x.?y, x[?i].
func asksPresence(n node) bool {
	for {
		switch a := n.(type) {
		case *access:
			if a.opt {
				return true
			}
			n = a.of
		case *indexing:
			if a.opt {
				return true
			}
			n = a.of
		default:
			return false
		}
	}
}

func (r *readSet) walkAll(nodes []node, u use) {
	for _, n := range nodes {
		r.walk(n, u)
	}
}

// walkComparison: a test for null needs no content.
func (r *readSet) walkComparison(n *comparison) {
	u := look
	if isNullLiteral(n.l) || isNullLiteral(n.r) {
		u = size
	}
	r.walk(n.l, u)
	r.walk(n.r, u)
}

func isNullLiteral(n node) bool {
	l, ok := n.(*literal)
	return ok && l.val == nil
}

func (r *readSet) walkCall(n *call, u use) {
	switch n.fn.use {
	case look:
		u = look
	case size:
		u = size
	}
	r.walkAll(n.args, u)
	for _, p := range n.fn.reads {
		r.add(p, look)
	}
}

func (r *readSet) walkMacro(n node, u use) {
	switch n := n.(type) {
	case *quantifier:
		r.walkLoop(&n.loop, n.test)
	case *mapping:
		r.walkLoop(&n.loop, n.test, n.make)
	case *remapping:
		r.walkLoop(&n.loop, n.test, n.make)
	case *finding:
		r.walkLoop(&n.loop, n.test)
	case *sorting:
		r.walkLoop(&n.loop, n.key)
	case *binding:
		p := r.path(n.init)
		if p == nil {
			r.walk(n.init, look)
		} else {
			r.add(p, pass)
		}
		r.alias(n.slot, p)
		r.walk(n.body, u)
	case *choice:
		r.walkAll(n.of, u)
	case *optionalMapping:
		p := r.path(n.of)
		if p == nil {
			r.walk(n.of, look)
		} else {
			r.add(p, pass)
		}
		r.alias(n.slot, p)
		r.walk(n.body, u)
	}
}

func (r *readSet) alias(slot int, p *path) {
	for len(r.aliases) <= slot {
		r.aliases = append(r.aliases, nil)
	}
	r.aliases[slot] = p
}

// walkLoop: a macro reads all of what it runs over.
func (r *readSet) walkLoop(l *loop, bodies ...node) {
	r.walk(l.over, look)
	r.alias(l.first, nil)
	if l.second >= 0 {
		r.alias(l.second, nil)
	}
	for _, body := range bodies {
		if body != nil {
			r.walk(body, look)
		}
	}
}
