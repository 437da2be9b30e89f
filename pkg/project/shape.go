package project

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// syntaxLine finds the line in the message of the YAML reader.
var syntaxLine = regexp.MustCompile(`^(?:yaml: )?(?:.*?)line (\d+)(?:, column \d+)?: (.*)$`)

// syntaxError is a mistake of YAML itself, with its line where that is known.
func syntaxError(file string, err error) error {
	if m := syntaxLine.FindStringSubmatch(strings.ReplaceAll(err.Error(), "\n", " ")); m != nil {
		return fmt.Errorf("%s:%s: this is not YAML: %s", file, m[1], m[2])
	}
	return fmt.Errorf("%s: this is not YAML: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
}

// checkShape holds a document against the type that it is decoded into, and names the place of each mistake.
func checkShape(file string, n *yaml.Node, t reflect.Type) error {
	s := &shape{file: file}
	if n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		s.check(n.Content[0], t, "the file")
	}
	return errors.Join(s.errs...)
}

type shape struct {
	file string
	errs []error
}

func (s *shape) errorf(n *yaml.Node, format string, args ...any) {
	s.errs = append(s.errs, fmt.Errorf("%s:%d:%d: %s", s.file, n.Line, n.Column, fmt.Sprintf(format, args...)))
}

func (s *shape) check(n *yaml.Node, t reflect.Type, what string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	null := n.Kind == yaml.ScalarNode && n.Tag == "!!null"
	switch t.Kind() {
	case reflect.Pointer:
		s.check(n, t.Elem(), what)
	case reflect.Struct:
		s.mapping(n, null, what, func(key, value *yaml.Node) {
			field, words := fieldOf(t, key.Value)
			if field == nil {
				s.errorf(key, "%s has no word %q: it takes %s", what, key.Value, strings.Join(words, ", "))
				return
			}
			s.check(value, field, "`"+key.Value+"`")
		})
	case reflect.Map:
		s.mapping(n, null, what, func(key, value *yaml.Node) { s.check(value, t.Elem(), "entry "+key.Value+" of "+what) })
	case reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			s.errorf(n, "%s must be a list, such as [ a, b ]", what)
			return
		}
		for _, item := range n.Content {
			s.check(item, t.Elem(), "an entry of "+what)
		}
	default:
		if n.Kind != yaml.ScalarNode || null {
			s.errorf(n, "%s must be a text", what)
		}
	}
}

// mapping looks at the entries of a mapping, each key once. One without a value is an empty one.
func (s *shape) mapping(n *yaml.Node, null bool, what string, entry func(key, value *yaml.Node)) {
	switch {
	case null:
		return
	case n.Kind != yaml.MappingNode:
		s.errorf(n, "%s must be a mapping, such as { word: value }", what)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if seen[key.Value] {
			s.errorf(key, "%s has %q twice", what, key.Value)
			continue
		}
		seen[key.Value] = true
		if key.Value != "<<" { // what is merged in stands elsewhere
			entry(key, n.Content[i+1])
		}
	}
}

// fieldOf is the type of what stands under a word of a struct, and all its words.
func fieldOf(t reflect.Type, word string) (found reflect.Type, words []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "" {
			continue
		}
		words = append(words, name)
		if name == word {
			found = f.Type
		}
	}
	slices.Sort(words)
	return found, words
}

// at is the place of an entry, by the words that lead to it.
func at(file string, n *yaml.Node, words ...string) string {
	if n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	place := n
	for _, word := range words {
		i := 0
		for i < len(n.Content) && n.Content[i].Value != word {
			i += 2
		}
		if n.Kind != yaml.MappingNode || i+1 >= len(n.Content) {
			break
		}
		place, n = n.Content[i], n.Content[i+1]
	}
	if place.Line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d:%d", file, place.Line, place.Column)
}
