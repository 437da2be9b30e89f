package dsl

// The kinds that wait.

var timerShape = &object{
	name: "timer",
	doc:  "Waits for a time.",
	hint: "write { for: 2h }",
	one:  []string{"for", "until", "cron"},
	words: []word{
		{name: "for", value: duration, example: "2h", doc: "How long to wait."},
		{name: "until", value: timestamp, example: "'${ input.due }'", doc: "A time; one that is past ends the wait at once."},
		{name: "cron", value: cron, example: "'0 9 * * MON'", doc: "The next time that matches: minute, hour, day of month, month and day of week."},
		{name: "timezone", value: zone, example: "Europe/Stockholm", fallback: "UTC", doc: "The time zone of `cron`.", only: []string{"cron"}},
	},
}

var humanShape = &object{
	name: "human",
	doc:  "A task for a person. Output: `{ decision, answer, by, comment, at }`, where `decision` is `approved`, `rejected` or `timed_out` and `answer` is as `form` describes it.",
	hint: "write { title: … }",
	words: []word{
		{name: "title", required: true, value: mixed, example: "'Approve order ${ input.order_id }'", doc: "What is asked, in one line."},
		{name: "details", value: template, example: "{ total: '${ input.total }' }", doc: "What the person should know: a text or a value to show."},
		{name: "assignees", value: &list{item: mixed, what: "people and roles", min: 1, max: 100, dynamic: true}, example: "[ 'role:finance', 'user:ada' ]", doc: "Whom the task is for. Nobody is held to it yet: whoever reaches the server can decide.", fallback: "anybody"},
		{name: "form", value: schemaBlock, example: "{ schema: { type: object } }", doc: "The JSON Schema of the answer."},
		{name: "notify", value: notifyShape, example: "{ function: chat.send, with: { text: 'Please decide: ${ task.url }' } }", doc: "A call that tells people of the task, which `task` describes."},
		{name: "remind", value: &list{item: positiveDuration, what: "durations", max: 32}, example: "[ 1d ]", doc: "When to tell again, from the start of the task."},
		{name: "escalate", value: &list{item: escalationShape, what: "escalations", max: 32}, example: "[ { after: 36h, to: 'role:cfo' } ]", doc: "When to hand the task to somebody else."},
		{name: "timeout", value: positiveDuration, example: "2d", doc: "The longest time that the task waits, as `wait_timeout` of the step."},
		{name: "on_reject", value: reactionShape, example: "fail", fallback: "fail", doc: "`fail` the step with `human.rejected`, or `continue`."},
		{name: "on_timeout", value: reactionShape, example: "fail", fallback: "fail", doc: "`fail` the step with `timeout.wait`, or `continue`."},
	},
}

var reactionShape = &choice{options: []string{"fail", "continue"}}

var notifyShape = &object{name: "notify", doc: "A call that tells people of a task.", hint: "write { function: name, with: { … } }", one: callKinds, words: callWords}

var escalationShape = &object{
	name: "escalation",
	doc:  "Hands a task to somebody else after a time.",
	words: []word{
		{name: "after", required: true, value: positiveDuration, example: "36h", doc: "The time from the start of the task."},
		{name: "to", required: true, example: "'role:cfo'", doc: "Who may decide from then on.",
			value: &variants{name: "a person or role, or a list of them", text: mixed, list: &list{item: mixed, what: "people and roles", min: 1, max: 100}}},
	},
}

var (
	eventType   = &scalar{name: "an event type", min: 1, max: 256, hint: "write a name such as PaymentReceived"}
	eventSource = &choice{options: []string{"bus", "webhook", "queue", "file"}}
)

// patternWords are the words of one event pattern.
func patternWords(required bool) []word {
	return []word{
		{name: "type", required: required, value: eventType, example: "PaymentReceived", doc: "The type of the event."},
		{name: "key", value: bareTemplate, example: "input.order_id", doc: "The key of the event: what it is about.", fallback: "any key"},
		{name: "match", value: expressions, example: "event.data.amount > 0", doc: "A condition over `event`.", fallback: "any of the type"},
		{name: "from", value: eventSource, example: "bus", doc: "How the event came.", fallback: "any way"},
	}
}

var eventShape = &object{
	name: "event",
	doc:  "Waits for the first event that fits. Events that came early are kept and found.",
	hint: "write { type: PaymentReceived }",
	one:  []string{"type", "any"},
	words: append(onlyBeside(patternWords(false), "type"), []word{
		{name: "any", example: "[ { type: Paid }, { type: Cancelled } ]", doc: "Several patterns: the first event that fits one of them.",
			value: &list{what: "patterns", min: 1, max: 32, item: &object{name: "pattern", doc: "One pattern of events.", words: patternWords(true)}}},
		{name: "schema", value: jsonSchema{}, example: "{ type: object }", doc: "The JSON Schema of `event.data`. An event that it refuses does not fit."},
		{name: "timeout", value: positiveDuration, example: "2d", doc: "The longest time that the step waits, as its `wait_timeout`."},
	}...),
}

func onlyBeside(words []word, name string) []word {
	for i := range words {
		if words[i].name != name {
			words[i].only = []string{name}
		}
	}
	return words
}

var childShape = &object{
	name: "child",
	doc:  "A child execution of another workflow.",
	hint: "write { name: other-workflow }",
	words: []word{
		{name: "name", required: true, example: "refund-order", doc: "The name of the workflow.",
			value: &scalar{name: "a workflow name", dynamic: true, pattern: workflowName.String(),
				problem: patternProblem(workflowName, "a workflow name", "write a name such as refund-order")}},
		{name: "allow", value: &list{what: "workflow names", min: 1, max: 100, unique: true, item: &scalar{name: "a workflow name", pattern: workflowName.String(),
			problem: patternProblem(workflowName, "a workflow name", "write a name such as refund-order")}}, example: "[ refund-order, refund-gift ]",
			doc: "The names that an expression in `name` may give; required with one."},
		{name: "version", value: &scalar{name: "a version or alias", mixed: true, min: 1, max: 128, kinds: []nodeKind{kindString, kindInt}}, example: "live", fallback: "live", doc: "A version or an alias of it."},
		{name: "with", value: template, example: "{ id: '${ input.order_id }' }", doc: "The input of the child.", fallback: "{}"},
		{name: "wait", value: boolean, example: "false", fallback: "true", doc: "Waits for the child and gives its output; `false` only starts it."},
		{name: "on_parent_close", value: &choice{options: []string{"cancel", "abandon"}}, example: "abandon", fallback: "cancel", doc: "What happens to a child whose parent ends first."},
	},
}
