package dsl

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// treeBuilder turns the library's nodes into ours: aliases followed, merge keys applied, scalars typed by the core schema,
// keys checked.
type treeBuilder struct {
	source *source
	sink   *sink
	done   map[*yaml.Node]*node // nil while a node is being built
	budget int                  // bytes that aliases may still expand to
}

// build makes one node. Its recursion is bounded by maxDepth.
func (b *treeBuilder) build(y *yaml.Node, pointer string, depth int) *node {
	if y.Kind == yaml.AliasNode {
		return b.alias(y, pointer, depth)
	}
	n := &node{at: b.source.original(y), bytes: 1}
	if y.Anchor != "" {
		b.done[y] = nil
	}
	var untyped bool
	n.at, untyped = b.source.afterProperties(n.at)
	switch y.Kind {
	case yaml.ScalarNode:
		b.scalar(n, y, pointer, untyped)
	case yaml.SequenceNode:
		b.collectionTag(y, "!!seq", pointer)
		b.list(n, y, pointer, depth)
	case yaml.MappingNode:
		b.collectionTag(y, "!!map", pointer)
		b.mapping(n, y, pointer, depth)
	}
	if y.Anchor != "" {
		b.done[y] = n
	}
	return n
}

func (b *treeBuilder) list(n *node, y *yaml.Node, pointer string, depth int) {
	n.kind = kindList
	if b.tooDeep(depth, pointer, n.at) {
		return
	}
	n.items = make([]*node, 0, len(y.Content))
	for i, child := range y.Content {
		item := b.build(child, pointer+"/"+strconv.Itoa(i), depth+1)
		n.items = append(n.items, item)
		n.grow(item)
	}
}

func (b *treeBuilder) mapping(n *node, y *yaml.Node, pointer string, depth int) {
	n.kind = kindObject
	if b.tooDeep(depth, pointer, n.at) {
		return
	}
	n.entries = make([]entry, 0, len(y.Content)/2)
	var merges []*node
	for i := 0; i+1 < len(y.Content); i += 2 {
		if name := y.Content[i]; name.Kind == yaml.ScalarNode && name.Value == "<<" && plain(name) {
			merges = append(merges, b.build(y.Content[i+1], pointer+"/<<", depth+1))
			continue
		}
		key := b.key(y.Content[i], pointer)
		if key == nil {
			continue
		}
		e := entry{key, b.build(y.Content[i+1], pointer+"/"+escape(key.text), depth+1)}
		if first := n.find(key.text); first >= 0 {
			b.errorAt(pointer+"/"+escape(key.text), key.at, utf8.RuneCountInString(key.text), "dsl/duplicate-key", "keep one of the two",
				"%q stands twice in this mapping, first in line %d", clip(key.text), n.entries[first].key.at.Line)
			continue
		}
		n.put(e)
		n.grow(e.value)
		n.bytes += len(key.text)
	}
	for _, from := range merges {
		b.merge(n, from, pointer+"/<<")
	}
}

// key reads the key of a mapping entry, which must be text; numbers and the like are taken as they are written.
func (b *treeBuilder) key(y *yaml.Node, pointer string) *node {
	at := b.source.original(y)
	if y.Kind == yaml.AliasNode {
		y = y.Alias
	}
	if y.Kind != yaml.ScalarNode {
		b.errorAt(pointer, at, 0, "dsl/key", "write a name as the key; put an expression in quotes: '${ … }'", "the key of a mapping must be text")
		return nil
	}
	if len(y.Value) > maxKey {
		b.errorAt(pointer, at, 0, "dsl/key", "write a shorter name", "a key of %d bytes is longer than %d", len(y.Value), maxKey)
		return nil
	}
	at, _ = b.source.afterProperties(at)
	return &node{kind: kindString, style: styleOf(y), text: y.Value, at: at}
}

// merge applies a merge key (`<<: *base` or `<<: [*a, *b]`): entries that are not there yet are added.
func (b *treeBuilder) merge(n, from *node, pointer string) {
	switch from.kind {
	case kindObject:
		for _, e := range from.entries {
			if !n.has(e.key.text) {
				n.put(e)
				n.grow(e.value)
				n.bytes += len(e.key.text)
			}
		}
	case kindList:
		for _, item := range from.items {
			if item.kind != kindObject {
				b.errorAt(pointer, item.at, 0, "dsl/merge", "write `<<: *name`", "`<<` takes mappings only")
				continue
			}
			b.merge(n, item, pointer)
		}
	default:
		b.errorAt(pointer, from.at, 0, "dsl/merge", "write `<<: *name`", "`<<` takes a mapping or a list of mappings")
	}
}

// alias follows an alias to the node of its anchor, as long as what all aliases together expand to stays in the budget.
func (b *treeBuilder) alias(y *yaml.Node, pointer string, depth int) *node {
	at := b.source.original(y)
	empty := &node{at: at, bytes: 1}
	target, seen := b.done[y.Alias]
	switch {
	case !seen || target == nil:
		b.errorAt(pointer, at, len(y.Value)+1, "dsl/alias", "write the value out", "the alias *%s stands inside its own anchor", clip(y.Value))
		return empty
	case b.budget < target.bytes:
		if b.budget >= 0 {
			b.errorAt(pointer, at, len(y.Value)+1, "dsl/alias", "use fewer aliases", "the aliases expand to more than %d bytes", maxBytes)
		}
		b.budget = -1
		return empty
	case depth+target.height > maxDepth:
		b.tooDeep(maxDepth, pointer, at)
		return empty
	}
	b.budget -= target.bytes
	return target
}

func (b *treeBuilder) tooDeep(depth int, pointer string, at workflow.Position) bool {
	if depth < maxDepth {
		return false
	}
	b.errorAt(pointer, at, 1, "dsl/too-deep", "split the workflow: `workflow` steps start others",
		"more than %d lists and mappings inside each other", maxDepth)
	return true
}

func (b *treeBuilder) collectionTag(y *yaml.Node, want, pointer string) {
	if y.Style&yaml.TaggedStyle != 0 && y.Tag != want && y.Tag != "!" {
		b.badTag(y, pointer)
	}
}

func (b *treeBuilder) badTag(y *yaml.Node, pointer string) {
	suggestion := "leave the tag out; a binary value is text in base64"
	if y.Kind == yaml.ScalarNode && !strings.HasPrefix(y.Tag, "!!") {
		suggestion = "leave the tag out; put an expression that starts with ! in quotes"
	}
	b.errorAt(pointer, b.source.original(y), 0, "dsl/tag", suggestion,
		"the tag %s is not part of the language", clip(y.Tag))
}

// errorAt reports an error at a place and a pointer, which cannot be looked up before the tree is whole.
func (b *treeBuilder) errorAt(pointer string, at workflow.Position, length int, code, suggestion, format string, args ...any) {
	if b.sink.room(SeverityError) {
		b.sink.add(span(pointer, at, length), SeverityError, code, suggestion, fmt.Sprintf(format, args...))
	}
}

func (n *node) grow(child *node) {
	n.height = max(n.height, child.height+1)
	n.bytes += child.bytes
}

// afterProperties skips the anchor and the tag that stand before a value, and reports whether the tag is a bare !, which
// makes a scalar a text.
func (s *source) afterProperties(at workflow.Position) (value workflow.Position, untyped bool) {
	data, from := s.text.data, s.text.offset(at)
	i := from
	for i < len(data) && (data[i] == '&' || data[i] == '!') {
		start := i
		for i < len(data) && data[i] != ' ' && data[i] != '\t' && lineBreak(data[i:]) == 0 {
			i++
		}
		untyped = untyped || data[start:i] == "!"
		for i < len(data) && (data[i] == ' ' || data[i] == '\t' || lineBreak(data[i:]) > 0) {
			i++
		}
	}
	if i == from {
		return at, false
	}
	return s.text.position(i), untyped
}
