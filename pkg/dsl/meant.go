package dsl

import (
	"fmt"
	"slices"
	"strings"
)

// unknown reports a word that the language does not have in a mapping, with what was probably meant, and returns that word, or "".
func (c *checker) unknown(o *object, n *node, name, pointer string) (meant string) {
	if !c.sink.room(SeverityError) {
		return ""
	}
	valid := make([]string, 0, len(o.words))
	for i := range o.words {
		if o.words[i].reserved == "" && !n.has(o.words[i].name) {
			valid = append(valid, o.words[i].name)
		}
	}
	suggestion := ""
	folded := fold(name)
	foreign := slices.IndexFunc(foreignWords[folded], func(w string) bool { return slices.Contains(valid, w) })
	near := nearest(name, valid)
	switch {
	case foreign >= 0:
		meant = foreignWords[folded][foreign]
		suggestion = "write `" + meant + "`"
		if meant == "retry" {
			suggestion = "write `retry: { attempts: … }`"
		}
	case slices.Contains(foreignWords[folded], "retry"):
		suggestion = "write `retry: { attempts: … }` at the step, beside its kind"
	case near != "":
		meant, suggestion = near, "did you mean `"+near+"`?"
	case o.name == "schema block" && schemaWords[name]:
		meant, suggestion = "schema", "put the JSON Schema under the word `schema`: { schema: { "+name+": … } }"
	case advice[o.name+" "+folded] != "":
		suggestion = advice[o.name+" "+folded]
	case len(homes[name]) > 0:
		suggestion = "`" + name + "` stands in " + orList(homes[name])
	case len(o.words) == 1:
		suggestion = "the only word here is `" + o.words[0].name + "`"
	case len(valid) > 0 && len(valid) <= 16:
		suggestion = "words that may stand here: " + strings.Join(quoted(valid), ", ")
	default:
		suggestion = "take it out"
	}
	place := "the language"
	switch {
	case o == stepShape:
		place = "a step"
	case pointer[:strings.LastIndexByte(pointer, '/')] != "":
		place = c.about(pointer[:strings.LastIndexByte(pointer, '/')])
	}
	c.sink.keyErrorf(pointer, "dsl/unknown-word", suggestion, "`%s` is not a word of %s", clip(name), place)
	return meant
}

// schemaWords are what a JSON Schema usually starts with.
var schemaWords = map[string]bool{"type": true, "properties": true, "required": true, "items": true, "enum": true, "$ref": true, "oneOf": true,
	"anyOf": true, "allOf": true, "additionalProperties": true, "$schema": true, "title": true, "description": true, "format": true}

// foreignWords are words of other workflow languages, folded, with ours: the first that fits the place.
var foreignWords = map[string][]string{
	"dependson": {"needs"}, "depends": {"needs"}, "after": {"needs", "for"}, "dependencies": {"needs"}, "requires": {"needs"},
	"if": {"when", "match"}, "condition": {"when", "match"}, "when": {"match"}, "filter": {"match"}, "expression": {"match"},
	"params": {"with"}, "parameters": {"with"}, "args": {"with"}, "arguments": {"with"}, "inputs": {"input", "with"}, "input": {"with"},
	"catch": {"on_error"}, "onerror": {"on_error"}, "rescue": {"on_error"}, "except": {"on_error"}, "onfailure": {"on_failure", "on_error"},
	"retries": {"retry"}, "retrypolicy": {"retry"},
	"sleep": {"timer"}, "wait": {"timer"}, "delay": {"timer"},
	"task": {"function"}, "activity": {"function"}, "action": {"function"}, "call": {"function"}, "run": {"function"}, "uses": {"function"}, "lambda": {"function"},
	"map": {"foreach"}, "foreach": {"foreach"}, "each": {"foreach"}, "for": {"foreach"}, "while": {"loop"}, "repeat": {"loop"},
	"parallel": {"max_parallelism", "group"}, "sequence": {"group"}, "block": {"group"}, "do": {"steps"}, "body": {"steps"},
	"concurrency": {"max_parallelism"}, "parallelism": {"max_parallelism"}, "maxconcurrency": {"max_parallelism"},
	"choice": {"switch"}, "branch": {"switch"}, "approval": {"human"}, "usertask": {"human"}, "manual": {"human"},
	"subworkflow": {"workflow"}, "child": {"workflow"}, "childworkflow": {"workflow"},
	"next": {"then"}, "goto": {"then"}, "transition": {"then"}, "signal": {"event"}, "receive": {"event"}, "waitforevent": {"event"},
	"publish": {"emit"}, "send": {"emit"}, "assign": {"set"}, "raise": {"fail"}, "throw": {"fail"}, "error": {"fail"},
	"llm": {"ai"}, "compensation": {"compensate"}, "undo": {"compensate"}, "rollback": {"compensate"},
	"states": {"steps"}, "jobs": {"steps"}, "tasks": {"steps"}, "activities": {"steps"},
	"apiversion": {"dsl"}, "specversion": {"dsl"}, "id": {"name"}, "title": {"name"}, "variables": {"vars"}, "environment": {"vars"}, "env": {"vars"},
	"maxattempts": {"attempts"}, "max": {"attempts"}, "count": {"attempts"}, "backoff": {"strategy"}, "interval": {"delay"}, "initialinterval": {"delay"},
	"maxinterval": {"max_delay"}, "nonretryable": {"not_on"}, "default": {"else"}, "otherwise": {"else"}, "case": {"when"}, "finally": {"on_exit"},
	"on": {"triggers"}, "verb": {"method"}, "uri": {"url"}, "endpoint": {"url", "target"}, "host": {"target"}, "address": {"target"}, "rpc": {"method"},
	"request": {"message", "body"}, "payload": {"data", "body", "with"}, "data": {"body"}, "json": {"body"}, "reason": {"message"}, "cause": {"message"},
	"in": {"items"}, "over": {"items"}, "list": {"items"}, "item": {"as"}, "var": {"as"}, "times": {"max"}, "limit": {"max"}, "pattern": {"like"},
	"tz": {"timezone"}, "zone": {"timezone"}, "hmac": {"hmac_sha256"}, "secret": {"verify"}, "token": {"bearer"}, "async": {"wait"}, "duration": {"for"},
	"seconds": {"for"}, "at": {"until"}, "memory": {"max_memory"}, "result": {"output"}, "returns": {"output"}, "assignee": {"assignees"}, "duedate": {"timeout"},
	"deadline": {"timeout"}, "javascript": {"js"}, "name": {"type"}, "key": {"hmac_sha256"},
}

// advice is for words that have no counterpart, by mapping and folded word.
var advice = map[string]string{
	"workflow startat": "take it out: a step without dependencies starts at once",
	"workflow start":   "take it out: a step without dependencies starts at once",
	"workflow version": "take it out: a version is given when the workflow is deployed; that of the language stands in `dsl`",
	"workflow kind":    "take it out",
	"step type":        "write the kind as a word of its own, such as function: inventory.reserve",
	"step kind":        "write the kind as a word of its own, such as function: inventory.reserve",
	"step end":         "take it out: a workflow ends when all its steps have",
	"step next":        "write needs: [ … ] at the step that comes after this one",
	"step then":        "write needs: [ … ] at the step that comes after this one; `then` stands in `switch`, `cases` and `on_error`",
	"script python":    "write `js` or `wasm`, or call the program from a `function` with { command: [ python3, … ] }",
}

// homes are the places of the language in which a word stands, by word.
var homes = findHomes()

func findHomes() map[string][]string {
	found := map[string][]string{}
	walkObjects(workflowShape, func(o *object) {
		for i := range o.words {
			name := o.words[i].name
			if o.words[i].reserved == "" && len(found[name]) < 4 && o != workflowShape {
				found[name] = append(found[name], o.spoken())
			}
		}
	})
	return found
}

// spokenNames say where a mapping stands, for those that are not called by the word before them.
var spokenNames = map[string]string{
	"step": "a step", "step limits": "`limits` of a step", "child": "`workflow`", "branch": "`switch`", "case": "`cases`", "handler": "`on_error`",
	"race branch": "a branch of `race`", "event trigger": "an `event` trigger", "schema block": "`input`, `form` or `output`", "agent tool": "`tools`",
	"part": "`multipart`", "pattern": "`any`", "escalation": "`escalate`", "reduced value": "`set`", "trigger": "`triggers`",
}

// spoken names a mapping in a sentence.
func (o *object) spoken() string {
	if name := spokenNames[o.name]; name != "" {
		return name
	}
	return "`" + o.name + "`"
}

func quoted(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = "`" + w + "`"
	}
	return out
}

// orList joins phrases: "a, b or c".
func orList(phrases []string) string {
	if len(phrases) < 2 {
		return strings.Join(phrases, "")
	}
	last := len(phrases) - 1
	return fmt.Sprintf("%s or %s", strings.Join(phrases[:last], ", "), phrases[last])
}

// listed joins words: "`a`, `b` and `c`".
func listed(words []string) string {
	names := quoted(words)
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
