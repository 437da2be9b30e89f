package dsl

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// checker holds a document against the table of the language.
type checker struct {
	source *source
	sink   *sink
	// steps and nesting are counted against maxSteps and maxNesting.
	steps   int
	nesting int
	// schemas compiles the JSON Schemas of the document; compiled holds the outcome by canonical text.
	schemas  *jsonschema.Compiler
	compiled map[string]error
	// schemaNodes counts the values of all of them.
	schemaNodes int
}

// mismatch reports a value of the wrong kind.
func (c *checker) mismatch(n *node, pointer, want, suggestion string) {
	c.sink.errorf(pointer, "dsl/type", suggestion, "%s must be %s, not %s", c.about(pointer), want, c.shown(n))
}

// about names a place by its last word: "`timeout`", "entry 2 of `needs`", "step `charge`".
func (c *checker) about(pointer string) string {
	if pointer == "" {
		return "the document"
	}
	cut := strings.LastIndexByte(pointer, '/')
	parent, last := pointer[:cut], unescape(pointer[cut+1:])
	if parentNode := c.source.node(parent); parentNode != nil && parentNode.kind == kindList {
		if i, err := strconv.Atoi(last); err == nil {
			return fmt.Sprintf("entry %d of %s", i+1, c.about(parent))
		}
	}
	if strings.HasSuffix(parent, "/steps") || parent == "/steps" {
		return "step `" + clip(last) + "`"
	}
	return "`" + clip(last) + "`"
}

// shown describes a value in a message.
func (c *checker) shown(n *node) string {
	switch n.kind {
	case kindNull, kindList, kindObject:
		return n.kind.String()
	case kindString:
		if n.text == "" {
			return "an empty text"
		}
		return fmt.Sprintf("%q", clip(n.text))
	}
	return n.kind.String() + " (" + clip(n.text) + ")"
}

// unknown reports a word that the language does not have at a place, with the word that was probably meant.
func (c *checker) unknown(o *object, name, pointer string) {
	if !c.sink.room(SeverityError) {
		return
	}
	valid := make([]string, 0, len(o.words))
	for i := range o.words {
		if o.words[i].reserved == "" {
			valid = append(valid, o.words[i].name)
		}
	}
	suggestion := ""
	switch near := nearest(name, valid); {
	case o.word(foreignWords[name]) != nil:
		suggestion = "write `" + foreignWords[name] + "`"
	case near != "":
		suggestion = "did you mean `" + near + "`?"
	case len(homes[name]) > 0:
		suggestion = "`" + name + "` stands in " + oneOf(homes[name])
	case len(valid) <= 12:
		suggestion = "the words here are " + listed(valid)
	}
	place := "at the top level"
	if o.name != "workflow" {
		place = "in " + o.article()
	}
	c.sink.keyErrorf(pointer, "dsl/unknown-word", suggestion, "`%s` is not a word of the language %s", clip(name), place)
}

func (o *object) article() string {
	if strings.ContainsAny(o.name[:1], "aeio") {
		return "an `" + o.name + "`"
	}
	return "a `" + o.name + "`"
}

func listed(words []string) string {
	return strings.ReplaceAll(oneOf(words), " or ", " and ")
}

// foreignWords are words of other workflow languages, with ours.
var foreignWords = map[string]string{
	"depends_on": "needs", "dependsOn": "needs", "after": "needs", "dependencies": "needs",
	"if": "when", "condition": "when",
	"params": "with", "parameters": "with", "args": "with", "arguments": "with", "inputs": "with",
	"catch": "on_error", "onError": "on_error", "rescue": "on_error", "except": "on_error",
	"retries": "retry", "retry_policy": "retry", "retryPolicy": "retry",
	"sleep": "timer", "wait": "timer", "delay": "timer",
	"task": "function", "activity": "function", "action": "function", "call": "function", "run": "function", "uses": "function",
	"map": "foreach", "for_each": "foreach", "forEach": "foreach", "each": "foreach", "while": "loop", "repeat": "loop", "for": "foreach",
	"parallel": "group", "sequence": "group", "block": "group", "do": "steps",
	"choice": "switch", "branch": "switch", "approval": "human", "user_task": "human",
	"subworkflow": "workflow", "sub_workflow": "workflow", "child": "workflow",
	"next": "then", "goto": "then", "signal": "event", "receive": "event",
	"publish": "emit", "send": "emit", "assign": "set", "raise": "fail", "throw": "fail", "error": "fail",
	"llm": "ai", "compensation": "compensate", "undo": "compensate", "rollback": "compensate",
	"states": "steps", "jobs": "steps", "tasks": "steps", "activities": "steps",
	"version": "dsl", "id": "name", "title": "name", "variables": "vars", "environment": "vars", "env": "vars",
	"max_attempts": "attempts", "maxAttempts": "attempts", "count": "attempts", "backoff": "strategy", "interval": "delay",
	"default": "else", "otherwise": "else", "case": "when", "finally": "on_exit", "on": "triggers",
}

// nearest returns the word with the fewest changes from a name, if there are few enough, or "". Separators and upper
// case do not count as changes: maxParallelism is max_parallelism.
func nearest(name string, words []string) string {
	folded := fold(name)
	if folded == "" || len(folded) > 64 {
		return ""
	}
	best, fewest := "", min(3, 1+len(folded)/4)+1
	for _, w := range words {
		if d := distance(folded, fold(w), fewest); d < fewest {
			best, fewest = w, d
		}
	}
	return best
}

func fold(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '_' || r == '-' || r == ' ' || r == '.':
			return -1
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// distance is the number of insertions, deletions, changes and swaps of neighbours between two words (optimal string
// alignment), or more than limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// homes are the mappings of the language in which a word stands, by word.
var homes = findHomes()

func findHomes() map[string][]string {
	found := map[string][]string{}
	walkObjects(workflowShape, func(o *object) {
		for i := range o.words {
			name := o.words[i].name
			if o.words[i].reserved == "" && len(found[name]) < 4 && o.name != "workflow" {
				found[name] = append(found[name], o.name)
			}
		}
	})
	return found
}

// walkObjects calls visit for each mapping of the language once, in the order of the table.
func walkObjects(root shape, visit func(*object)) {
	seen := map[*object]bool{}
	var walk func(s shape)
	walk = func(s shape) {
		switch s := s.(type) {
		case *object:
			if seen[s] {
				return
			}
			seen[s] = true
			visit(s)
			for i := range s.words {
				walk(s.words[i].value)
			}
		case *list:
			walk(s.item)
		case branches:
			walk(s.item)
		case *dictionary:
			walk(s.value)
		case *variants:
			for _, v := range []shape{s.text, s.number, s.list, s.object} {
				if v != nil {
					walk(v)
				}
			}
		case body:
			walk(s.steps())
		case assignment:
			walk(reduceShape)
		}
	}
	walk(root)
}
