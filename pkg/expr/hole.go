package expr

import (
	"sort"
	"strconv"
	"strings"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// hole is a value whose content is not here. It can be handed on whole; of a reference, the parts that were
// stored beside it (workflow.Ref.Known) can be read.
type hole struct {
	ref      *workflow.Ref      // or
	deferred *workflow.Deferred // a secret or link
	known    *known
	path     []string // within known
}

// known is the decoded form of workflow.Ref.Known: a JSON object with
//
//	pointer  → value     of a part that expressions read,
//	"size"   → {pointer: [kind, n]}   of parts of which only the size is read,
//	"absent" → [pointer]      of parts that are read and do not exist.
//
// Pointers are empty or start with a slash, so no pointer is one of the two words.
type known struct {
	parts  *object
	sizes  *object
	absent *list
}

const (
	knownSize   = "size"
	knownAbsent = "absent"
)

// newHole returns the value of a place that is a hole: its content where all of it is known.
func newHole(h *workflow.Hole) any {
	if h.Ref == nil {
		return &hole{deferred: h.Deferred}
	}
	k := &known{parts: &object{}, sizes: &object{}, absent: newList(nil)}
	if len(h.Ref.Known) > 0 {
		k.parts = mustBe[*object](decode(string(h.Ref.Known), nil))
	}
	if v, ok := k.parts.get(knownSize); ok {
		k.sizes = mustBe[*object](v)
	}
	if v, ok := k.parts.get(knownAbsent); ok {
		k.absent = mustBe[*list](v)
	}
	if v, ok := k.parts.get(""); ok {
		return v
	}
	return &hole{ref: h.Ref, known: k}
}

// mustBe is for stored values whose form KnownParts made.
func mustBe[T any](v any) T {
	t, ok := v.(T)
	if !ok {
		panic(invalid{})
	}
	return t
}

// member reads one part. found is false if the part is known not to exist.
func (h *hole) member(key string) (v any, found bool, bad *failure) {
	if h.ref == nil {
		return h, true, nil // a part of a secret is as unreadable as the whole
	}
	if kind, n, ok := h.size(); ok && kind != "map" {
		index, isIndex := keyValue(key).(int64)
		switch {
		case kind != "list" || !isIndex:
			return nil, false, noField(kind, key)
		case index < 0 || index >= n:
			return nil, false, nil
		}
	}
	part := &hole{ref: h.ref, known: h.known, path: append(h.path[:len(h.path):len(h.path)], keyText(key))}
	pointer := pointerOf(part.path)
	if v, ok := h.known.parts.get(pointer); ok {
		return v, true, nil
	}
	for _, absent := range h.known.absent.all() {
		if absent == pointer {
			return nil, false, nil
		}
	}
	return part, true, nil
}

// size returns the kind of the value and the number of its items or characters, if they are known.
func (h *hole) size() (kind string, n int64, ok bool) {
	if h.ref == nil {
		return "", 0, false
	}
	v, ok := h.known.sizes.get(pointerOf(h.path))
	if !ok {
		return "", 0, false
	}
	l := mustBe[*list](v)
	if l.size() != 2 {
		panic(invalid{})
	}
	return mustBe[string](l.at(0)), mustBe[int64](l.at(1)), true
}

// place returns the hole for use at pointer in a payload.
func (h *hole) place(pointer string) workflow.Hole {
	if h.ref == nil {
		return workflow.Hole{At: pointer, Deferred: h.deferred}
	}
	if len(h.path) == 0 {
		return workflow.Hole{At: pointer, Ref: h.ref}
	}
	ref := *h.ref
	ref.Path = append(ref.Path[:len(ref.Path):len(ref.Path)], h.path...)
	ref.Known = h.known.below(pointerOf(h.path))
	return workflow.Hole{At: pointer, Ref: &ref}
}

// below keeps what is known of the part at prefix, with pointers relative to it.
func (k *known) below(prefix string) workflow.Value {
	b := knownBuilder{}
	for i, p := range k.parts.keys {
		if p == knownSize || p == knownAbsent {
			continue
		}
		if rest, ok := cutPointer(p, prefix); ok {
			b.part(rest, k.parts.at(i))
		}
	}
	for i, p := range k.sizes.keys {
		if rest, ok := cutPointer(p, prefix); ok {
			b.size(rest, k.sizes.at(i))
		}
	}
	for _, p := range k.absent.all() {
		if rest, ok := cutPointer(mustBe[string](p), prefix); ok {
			b.missing(rest)
		}
	}
	return b.value()
}

// cutPointer makes pointer relative to prefix, if it is below it.
func cutPointer(pointer, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(pointer, prefix)
	if !ok || (rest != "" && rest[0] != '/') {
		return "", false
	}
	return rest, true
}

// knownBuilder makes the value of workflow.Ref.Known.
type knownBuilder struct {
	parts, sizes object
	absent       []any
	seen         map[string]bool // pointers
	left         int             // bytes that may still be added
}

func (b *knownBuilder) part(pointer string, v any) {
	b.parts.keys, b.parts.vals = append(b.parts.keys, pointer), append(b.parts.vals, v)
}

func (b *knownBuilder) size(pointer string, kindAndCount any) {
	b.sizes.keys, b.sizes.vals = append(b.sizes.keys, pointer), append(b.sizes.vals, kindAndCount)
}

func (b *knownBuilder) missing(pointer string) {
	for _, p := range b.absent {
		if p == pointer {
			return
		}
	}
	b.absent = append(b.absent, pointer)
}

func (b *knownBuilder) value() workflow.Value {
	if len(b.sizes.keys) > 0 {
		sort.Sort(&byKey{b.sizes.keys, b.sizes.vals})
		b.part(knownSize, &b.sizes)
	}
	if len(b.absent) > 0 {
		sort.Slice(b.absent, func(i, j int) bool { return b.absent[i].(string) < b.absent[j].(string) })
		b.part(knownAbsent, newList(b.absent))
	}
	if len(b.parts.keys) == 0 {
		return nil
	}
	sort.Sort(&byKey{b.parts.keys, b.parts.vals})
	e := encoder{limit: MaxResult}
	if bad := e.value(&b.parts, 0); bad != nil {
		panic("expr: known parts that are no JSON: " + bad.Error())
	}
	return e.buf
}

// KnownParts returns those parts of v that uses name, in the form of workflow.Ref.Known, so that
// decisions can read them without loading v (commit protocol, point 10). Of parts that are only handed on, or of which
// only the size is asked, it keeps the size, or the value if that is small. That a part does not exist is known too, so
// a use of a part is listed even where the whole is handed on as well. It fails with payload.too_large if the result
// has more than limit bytes.
func KnownParts(v workflow.Value, uses []workflow.Use, limit int) (known workflow.Value, err error) {
	defer recoverInvalid(&err)
	root := decode(string(v), nil)
	b := knownBuilder{left: limit, seen: map[string]bool{}}
	for _, looked := range []bool{true, false} {
		for _, use := range uses {
			if looked == (use.Pass || use.Size) {
				continue
			}
			b.use(root, use, looked)
			if b.left < 0 {
				return nil, workflow.Errorf(CodeTooLarge, workflow.CategoryWorkflow,
					"the value has %d bytes, and expressions can read %d of a value kept by reference; %q exceeds that: read less of it, or let an activity read it",
					len(v), limit, pointerOf(use.Path))
			}
		}
	}
	return b.value(), nil
}

// use keeps what one use needs.
func (b *knownBuilder) use(root any, use workflow.Use, looked bool) {
	pointer := pointerOf(use.Path)
	if b.seen[pointer] {
		return
	}
	b.seen[pointer] = true
	b.left -= len(pointer)
	part, depth := walk(root, use.Path)
	if _, ok := part.(*object); ok && depth < len(use.Path) {
		b.missing(pointerOf(use.Path[:depth+1]))
		return
	}
	if depth < len(use.Path) { // what is there instead explains why the part is not
		b.use(root, workflow.Use{Path: use.Path[:depth], Size: true}, false)
		return
	}
	if !looked && encodedSize(part, smallPart) > smallPart {
		n, _ := sizeOf(part)
		b.size(pointer, newList([]any{kindName(part), n}))
		return
	}
	b.part(pointer, part)
	b.left -= encodedSize(part, max(b.left, 0))
}

// encodedSize is the size of a value as JSON, or limit + 1 if it is larger than limit.
func encodedSize(v any, limit int) int {
	e := encoder{limit: limit}
	if bad := e.value(v, 0); bad != nil {
		return limit + 1
	}
	return len(e.buf)
}

// smallPart is the size up to which a part is kept itself, and not its size.
const smallPart = 64

// follow reads a static path.
func follow(v any, path []string) (any, bool) {
	part, depth := walk(v, path)
	return part, depth == len(path)
}

// walk goes along a static path as far as it exists, and says how far that is.
func walk(v any, path []string) (part any, depth int) {
	for depth, key := range path {
		var next any
		found := false
		switch c := v.(type) {
		case *object:
			next, found = c.get(key)
		case *list:
			if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < c.size() {
				next, found = c.at(i), true
			}
		}
		if !found {
			return v, depth
		}
		v = next
	}
	return v, len(path)
}

// holeTree finds the holes of a payload by the way to them.
type holeTree struct {
	hole *workflow.Hole
	keys []string // sorted once complete
	sub  []*holeTree
}

func newHoleTree(holes []workflow.Hole) *holeTree {
	if len(holes) == 0 {
		return nil
	}
	root := &holeTree{}
	for i := range holes {
		at := root
		for _, key := range splitPointer(holes[i].At) {
			at = at.make(key)
		}
		at.hole = &holes[i]
	}
	return root
}

func (t *holeTree) make(key string) *holeTree {
	i := sort.SearchStrings(t.keys, key)
	if i == len(t.keys) || t.keys[i] != key {
		t.keys = append(t.keys, "")
		t.sub = append(t.sub, nil)
		copy(t.keys[i+1:], t.keys[i:])
		copy(t.sub[i+1:], t.sub[i:])
		t.keys[i], t.sub[i] = key, &holeTree{}
	}
	return t.sub[i]
}

func (t *holeTree) child(key string) *holeTree {
	if t == nil {
		return nil
	}
	if i := sort.SearchStrings(t.keys, key); i < len(t.keys) && t.keys[i] == key {
		return t.sub[i]
	}
	return nil
}

func (t *holeTree) index(i int) *holeTree {
	if t == nil {
		return nil
	}
	return t.child(strconv.Itoa(i))
}

// appendTo lists the holes below t, moved to the pointer prefix.
func (t *holeTree) appendTo(holes []workflow.Hole, prefix string) []workflow.Hole {
	if t == nil {
		return holes
	}
	if t.hole != nil {
		h := *t.hole
		h.At = prefix
		return append(holes, h)
	}
	for i, key := range t.keys {
		holes = t.sub[i].appendTo(holes, prefix+"/"+escapePointer.Replace(key))
	}
	return holes
}

var (
	escapePointer   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")
)

// pointerOf is the RFC 6901 pointer of a path.
func pointerOf(path []string) string {
	if len(path) == 0 {
		return ""
	}
	var b strings.Builder
	for _, key := range path {
		b.WriteByte('/')
		if strings.ContainsAny(key, "~/") {
			key = escapePointer.Replace(key)
		}
		b.WriteString(key)
	}
	return b.String()
}

func splitPointer(pointer string) []string {
	if pointer == "" {
		return nil
	}
	keys := strings.Split(pointer[1:], "/")
	for i, key := range keys {
		if strings.Contains(key, "~") {
			keys[i] = unescapePointer.Replace(key)
		}
	}
	return keys
}
