package dsl

import "strconv"

// The kinds that pick steps, those that have a body, and those of one moment.

var switchShape = branches{&list{what: "branches", min: 1, max: maxList, hint: "write [ { when: input.total > 1000, then: review }, { else: standard } ]", item: branchShape}}

// branches is a list whose `else` stands last.
type branches struct{ *list }

func (s branches) check(c *checker, n *node, pointer string) {
	s.list.check(c, n, pointer)
	for i := 0; i+1 < len(n.items); i++ {
		if n.items[i].has("else") {
			c.sink.keyErrorf(pointer+"/"+strconv.Itoa(i)+"/else", "dsl/order", "move it to the end of the list", "what stands after `else` is never reached")
		}
	}
}

var branchShape = &object{
	name:  "branch",
	doc:   "One way out of a `switch`.",
	hint:  "write { when: …, then: step } or { else: step }",
	one:   []string{"then", "else"},
	most:  [][]string{{"when", "else"}},
	pairs: [][2]string{{"then", "when"}},
	words: []word{
		{name: "when", value: expressions, example: "input.total > 1000", doc: "The condition."},
		{name: "then", value: thenList, example: "review", doc: "The steps to run."},
		{name: "else", value: thenList, example: "standard", doc: "The steps to run when no condition is true; last in the list."},
	},
}

var casesShape = branches{&list{what: "cases", min: 1, max: maxList, item: caseShape, hint: "write [ { like: { type: invoice }, then: review }, { else: standard } ]"}}

var caseShape = &object{
	name:  "case",
	doc:   "One shape of a `match`. Objects match by the keys that `like` names; `$id` binds what stands there, a trailing `*` is a prefix, `_` is anything, and an expression is a condition over `value`.",
	hint:  "write { like: …, then: step } or { else: step }",
	one:   []string{"then", "else"},
	most:  [][]string{{"like", "else"}, {"when", "else"}},
	pairs: [][2]string{{"then", "like"}},
	words: []word{
		{name: "like", value: template, example: "{ type: invoice, total: '${ value > 1000 }', id: $id }", doc: "The shape."},
		{name: "when", value: expressions, example: "id != ''", doc: "A further condition, which may read the names that `like` binds, without their `$`."},
		{name: "then", value: thenList, example: "big_invoice", doc: "The steps to run."},
		{name: "else", value: thenList, example: "other", doc: "The steps to run when no case fits; last in the list."},
	},
}

var foreachShape = &object{
	name: "foreach",
	doc:  "Runs its body once for each item.",
	hint: "write { items: '${ input.items }', steps: { … } }",
	words: []word{
		{name: "items", required: true, example: "'${ input.items }'", doc: "The items: a list.", value: itemsShape},
		{name: "as", value: itemName, example: "item", fallback: "item", doc: "The name of the item in expressions of the body; `index` counts from 0."},
		{name: "max_parallelism", value: positive, example: "20", doc: "How many items run at once.", fallback: "that of the workflow"},
		{name: "tolerate_failures", example: "5%", fallback: "0", doc: "How many items may fail: a number, or a share of all.",
			value: &variants{name: "a share such as 5%, a whole number or an expression", number: natural, hint: "write 5% or 3",
				text: &scalar{name: "a share", dynamic: true, problem: percentProblem, pattern: percentForm.String()}}},
		{name: "until", value: expressions, example: "collected.size() >= 10", doc: "Ends early and cancels the rest, over `collected`."},
		{name: "collect", value: bareTemplate, example: "steps.price.output.sum", doc: "What to collect of each item.", fallback: "the output of the body's last step"},
		{name: "batch", reserved: "split the list with an expression and run one item a part", value: template, doc: "Several items for each run of the body."},
		{name: "steps", required: true, value: body{}, example: "{ price: { function: price, with: { sku: '${ item.sku }' } } }", doc: "The body."},
	},
}

var itemsShape = &variants{name: "a list or an expression", text: &scalar{name: "an expression", dynamic: true, problem: itemsProblem, pattern: `^\$\{`, hint: itemsHint},
	list: template, object: itemsReadShape, hint: itemsHint}

const itemsHint = "write an expression in quotes, such as '${ input.items }', or a list"

func itemsProblem(text string) (wrong, instead string) {
	return "a text is not a list", "write the expression in braces and quotes: '${ " + clip(text) + " }'"
}

// itemsReadShape is the reserved form of `items`.
var itemsReadShape = &object{
	name: "items",
	doc:  "Items that are read from outside.",
	hint: "write an expression in quotes, such as '${ input.items }', or a list",
	words: []word{
		{name: "read", reserved: "read the list in a step, and write items: '${ steps.list.output }'", value: template, doc: "Where to read the items."},
		{name: "format", reserved: "read the list in a step, and write items: '${ steps.list.output }'", value: template, doc: "How they are written."},
	},
}

var loopShape = &object{
	name: "loop",
	doc:  "Runs its body again and again. `iteration` counts from 1; `steps.<id>` is this iteration, `previous.<id>` the one before.",
	hint: "write { until: …, max: 100, steps: { … } }",
	most: [][]string{{"while", "until"}},
	words: []word{
		{name: "while", value: expressions, example: "vars.open > 0", doc: "Tested before each iteration."},
		{name: "until", value: expressions, example: "steps.check.output.done", doc: "Tested after each iteration."},
		{name: "max", required: true, value: positive, example: "100", doc: "The most iterations."},
		{name: "delay", value: duration, example: "10s", doc: "The time between iterations.", fallback: "none"},
		{name: "on_max", value: &choice{options: []string{"fail", "stop"}}, example: "fail", fallback: "fail", doc: "After the last iteration: `fail` with `loop.max`, or `stop`."},
		{name: "collect", value: bareTemplate, example: "steps.check.output.page", doc: "What to collect of each iteration."},
		{name: "steps", required: true, value: body{}, example: "{ check: { function: check } }", doc: "The body."},
	},
}

var raceShape = &dictionary{key: raceNames, what: "branches by name", min: 2, max: 100, value: raceBranchShape}

var raceBranchShape = &object{
	name:  "race branch",
	doc:   "One contender of a `race`.",
	hint:  "write { steps: { … } }",
	words: []word{{name: "steps", required: true, value: body{}, example: "{ t: { timer: { for: 3d } } }", doc: "The body."}},
}

var groupShape = &object{
	name: "group",
	doc:  "A body that is one step to the outside: one timeout, one compensation.",
	hint: "write { steps: { … } }",
	words: []word{
		{name: "steps", required: true, value: body{}, example: "{ a: { function: a }, b: { needs: [ a ], function: b } }", doc: "The body."},
		{name: "output", value: template, example: "'${ steps.b.output }'", doc: "The output of the group.", fallback: "the outputs of its steps by name"},
	},
}

// body is a scope of steps.
type body struct{}

func (body) label() string { return "a mapping of steps by name" }

func (body) steps() *dictionary {
	return &dictionary{key: stepNames, what: "steps by name", min: 1, max: maxSteps, value: stepShape}
}

func (b body) check(c *checker, n *node, pointer string) {
	if c.nesting == maxNesting {
		c.sink.keyErrorf(pointer, "dsl/limit", "move the inner part to a workflow of its own", "bodies stand more than %d deep inside each other", maxNesting)
		return
	}
	before := c.steps
	if n.kind == kindObject {
		c.steps += len(n.entries)
	}
	if c.steps > maxSteps {
		if before <= maxSteps {
			c.sink.keyErrorf(pointer, "dsl/limit", "move a part to a workflow of its own", "the document has more than %d steps", maxSteps)
		}
		return
	}
	c.nesting++
	b.steps().check(c, n, pointer)
	c.nesting--
}

var setShape = &dictionary{key: varNames, what: "values by variable name", min: 1, max: maxList, value: assignment{}}

// assignment is the value of one variable in `set`: any value, or { value, reduce }.
type assignment struct{}

var reduceShape = &object{
	name: "reduced value",
	doc:  "A value with the way in which concurrent writes of a variable combine.",
	words: []word{
		{name: "value", required: true, value: template, example: "'${ item.total }'", doc: "The value."},
		{name: "reduce", required: true, value: &choice{options: []string{"append", "sum", "min", "max", "merge", "first", "last"}}, example: "sum",
			doc: "`append` to a list, `sum`, `min`, `max`, `merge` objects, or keep the `first` or `last` write."},
	},
}

func (assignment) label() string { return "any value, or { value, reduce }" }

func (assignment) check(c *checker, n *node, pointer string) {
	if n.has("reduce") {
		reduceShape.check(c, n, pointer)
	}
}

var emitShape = &object{
	name: "emit",
	doc:  "Publishes an event.",
	hint: "write { type: OrderShipped }",
	words: []word{
		{name: "type", required: true, value: mixed, example: "OrderShipped", doc: "The type of the event."},
		{name: "key", value: bareTemplate, example: "input.order_id", doc: "What the event is about."},
		{name: "source", value: mixed, example: "shop", doc: "Who sends it.", fallback: "the name of the workflow"},
		{name: "data", value: template, example: "{ id: '${ input.order_id }' }", doc: "Its content."},
	},
}

var failShape = &object{
	name: "fail",
	doc:  "Ends with a typed error, of category workflow.",
	hint: "write { code: order.invalid }",
	words: []word{
		{name: "code", required: true, value: &scalar{name: "an error code", dynamic: true, pattern: selector.String(), max: 128,
			problem: patternProblem(selector, "an error code", "write a dotted code such as order.invalid")}, example: "order.invalid", doc: "The code of the error."},
		{name: "message", value: mixed, example: "'Order ${ input.order_id } has no items'", doc: "What happened, for people."},
		{name: "details", value: template, example: "{ id: '${ input.order_id }' }", doc: "What else the error carries."},
	},
}

var continueShape = &object{
	name:  "continue_as_new",
	doc:   "Goes on as a new execution with an empty history.",
	hint:  "write { input: '${ input }' }",
	words: []word{{name: "input", required: true, value: template, example: "'${ input }'", doc: "The input of the new execution."}},
}
