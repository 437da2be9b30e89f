package dsl

import "slices"

// kinds are the words of which each step has exactly one.
var kinds = []string{"function", "http", "grpc", "ai", "tool", "script", "timer", "human", "event", "workflow",
	"switch", "match", "foreach", "loop", "race", "group", "value", "set", "emit", "fail", "continue_as_new"}

// callKinds are the kinds that call an activity.
var callKinds = kinds[:6]

// stepShape is one step.
var stepShape = &object{
	name:  "step",
	doc:   "A step has exactly one kind, and policies.",
	hint:  "write { function: name } or another kind of step",
	one:   kinds,
	pairs: [][2]string{{"match", "cases"}},
	words: append(append(append(stepFlow, stepKinds...), stepPolicies...), stepReserved()...),
}

func stepReserved() []word {
	return append([]word{{name: "aws", reserved: "call the service from a `function`", value: template, doc: "One signed call of an AWS service."}}, reservedWords()...)
}

// stepFlow are the words that say when a step runs.
var stepFlow = []word{
	{name: "when", value: expressions, example: "input.total > 1000", doc: "Whether the step runs. `false` skips this step alone; its output is null then."},
	{name: "needs", value: &list{item: needShape, what: "needs", max: maxList, hint: "write a list: [ a, b ]"}, example: "[ reserve, { charge: failed } ]",
		doc: "Steps that must end first, beside those that expressions of this step read. A need is met when its step completed, was caught, or was skipped by its own `when`; " +
			"`{ step: end }` names another end: `completed` (strictly), `failed`, `skipped` or `ended` (any of them)."},
	{name: "join", value: joinShape, example: "any", fallback: "all",
		doc: "How many needs let the step start: `all`, `any`, or a number. `any` and numbers count completed steps only; when they cannot be reached any more, the step fails with `join.unreachable`."},
	{name: "cancel_rest", value: boolean, example: "true", fallback: "false", only: []string{"join"}, doc: "Cancels what still runs upstream when the join is met."},
}

var needShape = &variants{
	name: "a step name, or { step: end }", text: stepName, hint: "write the name of a step, or { charge: failed }",
	object: &dictionary{key: stepNames, what: "one step name with an end", min: 1, max: 1, value: endShape},
}

var endShape = &choice{options: []string{"completed", "failed", "skipped", "ended"},
	synonyms: map[string]string{"success": "completed", "succeeded": "completed", "done": "ended", "always": "ended", "failure": "failed", "error": "failed"}}

var joinShape = &variants{name: "`all`, `any`, a whole number or an expression", hint: "write all, any or a number",
	text:   &choice{options: []string{"all", "any"}, dynamic: true, synonyms: map[string]string{"one": "any", "first": "any", "every": "all"}},
	number: &count{min: 1, max: maxSteps}}

// stepKinds are the kinds and the words that stand beside some of them.
var stepKinds = append(slices.Clone(callWords), []word{
	{name: "callback", value: boolean, example: "true", fallback: "false", only: []string{"function", "http", "tool"},
		doc: "The call only starts the work, and `${ callback.url }` and `${ callback.token }` stand in its input; the answer comes later by API."},
	{name: "timer", value: timerShape, example: "{ for: 2h }", doc: "Waits for a time."},
	{name: "human", value: humanShape, example: "{ title: 'Approve order ${ input.order_id }' }", doc: "Waits for a person's decision, by API, CLI or console."},
	{name: "event", value: eventShape, example: "{ type: PaymentReceived, key: input.order_id }",
		doc: "Waits for an event; one that came early is kept and found. Output: `{ id, type, source, key, data, received_at }`."},
	{name: "workflow", value: childShape, example: "{ name: refund-order, with: { id: '${ input.order_id }' } }", doc: "A child execution."},
	{name: "switch", value: switchShape, example: "[ { when: input.total > 1000, then: review }, { else: standard } ]", doc: "Picks steps by conditions: the first that is true. Output: the names of the steps picked."},
	{name: "match", value: bareTemplate, example: "steps.detect.output", doc: "Picks steps by the shape of this value: the first of `cases` that fits. Output: the value."},
	{name: "cases", value: casesShape, example: "[ { like: { type: invoice }, then: review }, { else: standard } ]", only: []string{"match"},
		doc: "The shapes of a `match`, in order."},
	{name: "foreach", value: foreachShape, example: "{ items: '${ input.items }', as: item, steps: { price: { function: price } } }",
		doc: "Runs its body once for each item. Output: the collected items in the order of `items`."},
	{name: "loop", value: loopShape, example: "{ until: steps.check.output.done, max: 100, steps: { check: { function: check } } }",
		doc: "Runs its body again and again. Output: the list of `collect`, or without it the outputs of the last iteration."},
	{name: "race", value: raceShape, example: "{ paid: { steps: { p: { event: { type: Paid } } } }, late: { steps: { t: { timer: { for: 3d } } } } }",
		doc: "Runs branches against each other: the first to complete wins, the others are cancelled. Output: `{ winner, output }`."},
	{name: "group", value: groupShape, example: "{ steps: { a: { function: a } } }", doc: "A body that is one step to the outside: one timeout, one compensation."},
	{name: "value", value: template, example: "'${ input.a + input.b }'", doc: "Names a value: its output. No activity runs."},
	{name: "set", value: setShape, example: "{ attempts: '${ vars.attempts + 1 }' }",
		doc: "Changes workflow variables. Where two steps could write one at once, `{ value, reduce }` says how the writes combine."},
	{name: "emit", value: emitShape, example: "{ type: OrderShipped, key: input.order_id }", doc: "Publishes an event."},
	{name: "fail", value: failShape, example: "{ code: order.invalid, message: 'No items' }", doc: "Ends with a typed error."},
	{name: "continue_as_new", value: continueShape, example: "{ input: '${ input }' }", doc: "Goes on as a new execution with an empty history."},
}...)

// stepPolicies may stand at any step.
var stepPolicies = []word{
	{name: "timeout", value: positiveDuration, example: "30s", doc: "The longest time of one attempt, start to close."},
	{name: "schedule_timeout", value: positiveDuration, example: "5m", doc: "The longest time from ready to start."},
	{name: "heartbeat", value: positiveDuration, example: "30s", doc: "The longest silence of a running attempt."},
	{name: "wait_timeout", value: positiveDuration, example: "2d", doc: "The longest time that the step waits."},
	{name: "retry", value: retryShape, example: "{ attempts: 5, delay: 2s }", doc: "When and how often to try again.",
		fallback: "3 attempts, exponential from 1s, for retryable errors of the categories infrastructure and external"},
	{name: "on_error", value: onErrorShape, example: "[ { match: error.code == 'card.declined', then: other_card }, { continue: null } ]",
		doc: "Catches errors: the first entry that matches."},
	{name: "compensate", value: compensateShape, example: "{ function: inventory.release, with: { id: '${ output.reservation }' } }",
		doc: "Undoes the step. Compensations run in reverse order of completion."},
	{name: "idempotent", value: boolean, example: "true",
		doc: "`true`: running the step twice does no harm, which saves a claim. `false`: an attempt whose outcome is unknown is never repeated."},
	{name: "limits", value: stepLimitsShape, example: "{ max_memory: 256MiB }", doc: "Limits of this step."},
	{name: "max_recoveries", value: natural, example: "3", doc: "How often an attempt is started anew after its worker was lost."},
}

var stepLimitsShape = &object{
	name:  "step limits",
	doc:   "Limits of one step.",
	words: []word{{name: "max_memory", value: size, example: "256MiB", doc: "Memory of the activity."}},
}

var retryShape = &object{
	name: "retry",
	doc:  "When and how often to try again.",
	hint: "write { attempts: 5 }",
	words: []word{
		{name: "attempts", value: attempts, example: "5", fallback: "3", doc: "All attempts, the first included."},
		{name: "strategy", example: "exponential", fallback: "exponential", value: &choice{options: []string{"fixed", "linear", "exponential"}, synonyms: map[string]string{"constant": "fixed"}},
			doc: "How the delay grows with the attempts."},
		{name: "delay", value: duration, example: "1s", fallback: "1s", doc: "The delay before the second attempt."},
		{name: "max_delay", value: positiveDuration, example: "1m", doc: "The longest delay."},
		{name: "jitter", value: &number{min: 0, max: 1}, example: "0.2", fallback: "0", doc: "The share of a delay that may be added or taken."},
		{name: "on", value: selectorList, example: "[ external, http.5xx, timeout ]", fallback: "retryable errors of the categories infrastructure and external",
			doc: "Errors to retry: categories, codes, dotted prefixes of codes, and `http.5xx`."},
		{name: "not_on", value: selectorList, example: "[ http.4xx ]", doc: "Errors not to retry, even if `on` names them."},
	},
}

var selectorList = &list{what: "categories and codes", min: 1, max: 64, unique: true, item: &scalar{name: "a category or code", pattern: selector.String(), max: 128,
	problem: patternProblem(selector, "a category or code of errors", "write a category (activity, workflow, infrastructure, external), a code such as http.503, or a prefix such as http"),
	hint:    "write a category or code, such as http.5xx"}}

var onErrorShape = &variants{
	name: "a list of handlers, one handler, or a step name", text: stepName, object: handlerShape,
	list: &list{item: handlerShape, what: "handlers", min: 1, max: 64},
	hint: "write [ { match: error.category == 'external', then: other } ]",
}

var handlerShape = &object{
	name: "handler",
	doc:  "Catches errors of a step.",
	hint: "write { then: step } or { continue: value }",
	one:  []string{"then", "continue"},
	words: []word{
		{name: "match", value: expressions, example: "error.code == 'card.declined'", doc: "A condition over `error`.", fallback: "all errors"},
		{name: "then", value: thenList, example: "ask_other_card", doc: "Steps to run instead: what needed this step waits for them and gets their output."},
		{name: "continue", value: template, example: "{ ok: false }", doc: "A value that stands in as the step's output."},
	},
}

var compensateShape = &object{
	name: "compensate",
	doc:  "Undoes a step: one call, which may read `input`, `output` and completed steps.",
	hint: "write { function: name, with: { … } }",
	one:  append(callKinds[:len(callKinds):len(callKinds)], "workflow"),
	words: append(slices.Clone(callWords), []word{
		{name: "workflow", value: childShape, example: "{ name: refund-order }", doc: "A child execution."},
		{name: "on", value: &choice{options: []string{"completed", "attempted"}}, example: "attempted", fallback: "completed",
			doc: "`attempted` also undoes a step that failed."},
		{name: "retry", value: retryShape, example: "{ attempts: 10 }", doc: "When and how often to try again."},
		{name: "timeout", value: positiveDuration, example: "30s", doc: "The longest time of one attempt."},
	}...),
}
