package dsl

// workflowShape is the document.
var workflowShape = &object{
	name: "workflow",
	doc:  "A workflow is one YAML 1.2 or JSON document: a graph of named steps.",
	hint: "start with `dsl: wovyr/v1`, `name` and `steps`",
	words: append([]word{
		{name: "dsl", required: true, value: &choice{options: []string{"wovyr/v1"}}, example: "wovyr/v1",
			doc: "The version of the language."},
		{name: "name", required: true, example: "order-fulfilment", doc: "The name of the workflow, by which it is deployed and started.",
			value: &scalar{name: "a workflow name", pattern: workflowName.String(), hint: "write a name such as order-fulfilment",
				problem: patternProblem(workflowName, "a workflow name: up to 128 letters, digits and any of . _ -, starting with a letter or digit", "write a name such as order-fulfilment")}},
		{name: "description", value: prose, example: "Reserve, charge and ship an order.", doc: "What the workflow is for."},
		{name: "labels", example: "{ team: commerce }", doc: "Keys and values for finding and grouping workflows.",
			value: &dictionary{key: labelKeys, what: "labels", max: 64, value: &scalar{name: "a text", max: 256, verbatim: true, hint: "put the value in quotes"}}},
		{name: "input", value: schemaBlock, example: "{ schema: { type: object, required: [ order_id ] } }",
			doc: "The JSON Schema of the input. An execution does not start with an input that it refuses, and expressions are checked against it.", fallback: "any input"},
		{name: "vars", example: "{ attempts: 0 }", doc: "Workflow variables with their first values. Only `set` changes them.",
			value: &dictionary{key: varNames, what: "first values by variable name", value: template, max: maxList}},
		{name: "defaults", value: defaultsShape, example: "{ timeout: 30s, retry: { attempts: 3, delay: 1s } }",
			doc: "Policies for each activity step that does not set them itself."},
		{name: "limits", value: limitsShape, example: "{ timeout: 7d, max_parallelism: 50 }", doc: "Limits of a whole execution."},
		{name: "on_failure", example: "compensate", fallback: "fail",
			doc:   "What an uncaught failure leads to: `fail` ends the execution, `compensate` undoes the completed steps first, `pause` waits for an operator.",
			value: &choice{options: []string{"compensate", "fail", "pause"}, synonyms: map[string]string{"rollback": "compensate", "undo": "compensate", "wait": "pause", "stop": "fail"}}},
		{name: "on_exit", value: stepList, example: "[ notify ]", doc: "Steps that run last, in this order, whatever the end: after compensation and before the terminal event."},
		{name: "triggers", example: "[ { schedule: { cron: '0 9 * * MON-FRI' } } ]", doc: "What starts executions by itself.",
			value: &list{item: triggerShape, what: "triggers", max: 32, hint: "write a list: [ { schedule: { every: 15m } } ]"}},
		{name: "output", value: template, example: "'${ steps.ship.output }'", doc: "The output of the workflow.", fallback: "the outputs of the last steps, by name"},
		{name: "steps", required: true, value: body{}, example: "{ ship: { function: shipping.create } }",
			doc: "The steps by name. One without dependencies starts at once."},
	}, reservedWords()...),
}

var defaultsShape = &object{
	name: "defaults",
	doc:  "Policies for each activity step that does not set them itself. A policy is taken as a whole: a step's own `retry` takes nothing from this one.",
	words: []word{
		{name: "timeout", value: positiveDuration, example: "30s", doc: "The longest time of one attempt, start to close."},
		{name: "retry", value: retryShape, example: "{ attempts: 3 }", doc: "When and how often to try again."},
	},
}

var limitsShape = &object{
	name: "limits",
	doc:  "Limits of a whole execution. Each that is reached raises an error that the workflow can catch.",
	words: []word{
		{name: "timeout", value: positiveDuration, example: "7d", doc: "The longest time of an execution (`timeout.workflow`)."},
		{name: "max_parallelism", value: positive, example: "50", doc: "How many activities of an execution run at once."},
		{name: "max_memory", value: size, example: "512MiB", doc: "Memory of each activity."},
		{name: "retries", value: natural, example: "1000", doc: "Retries of all steps together."},
	},
}

var triggerShape = &object{
	name: "trigger",
	doc:  "A trigger starts executions by itself.",
	hint: "write one of event, schedule and webhook",
	one:  []string{"event", "schedule", "webhook"},
	words: []word{
		{name: "event", value: eventTriggerShape, example: "{ type: OrderPlaced }", doc: "Starts an execution for each event that matches."},
		{name: "schedule", value: scheduleShape, example: "{ every: 15m }", doc: "Starts executions by the clock."},
		{name: "webhook", value: webhookShape, example: "{ path: /hooks/payments, verify: { bearer: hook_token } }", doc: "Starts an execution for each verified request, or makes an event of it."},
	},
}

var eventTriggerShape = &object{
	name: "event trigger",
	doc:  "Starts an execution for each event that matches.",
	words: []word{
		{name: "source", value: &scalar{name: "a text", min: 1, max: 256}, example: "shop", doc: "Who sent the event.", fallback: "anybody"},
		{name: "type", required: true, value: eventType, example: "OrderPlaced", doc: "The type of the event."},
		{name: "match", value: expressions, example: "event.data.total > 0", doc: "A condition over `event`.", fallback: "any of the type"},
		{name: "input", value: template, example: "'${ event.data }'", doc: "The input of the execution.", fallback: "`event.data`"},
	},
}

var scheduleShape = &object{
	name:  "schedule",
	doc:   "Starts executions by the clock.",
	one:   []string{"cron", "every", "at"},
	pairs: [][2]string{{"on_dates", "cron"}},
	words: []word{
		{name: "cron", value: cron, example: "'0 9 * * MON-FRI'", doc: "Minute, hour, day of month, month and day of week."},
		{name: "every", value: fixedDuration, example: "15m", doc: "The time from one start to the next."},
		{name: "at", value: fixedTime, example: "2027-01-31T09:00:00Z", doc: "One single start."},
		{name: "timezone", value: zone, example: "Europe/Stockholm", doc: "The time zone of `cron` and of the dates.", fallback: "UTC", only: []string{"cron", "every"}},
		{name: "exclude", value: &list{item: date, what: "dates", max: maxList, unique: true}, example: "[ '2026-12-24' ]", doc: "Dates without a start.", only: []string{"cron", "every"}},
		{name: "on_dates", value: &list{item: date, what: "dates", max: maxList, unique: true}, example: "[ '2026-12-27' ]",
			doc: "Dates that count as if `cron` named them: it starts there at its usual times of the day."},
		{name: "overlap", example: "skip", fallback: "skip", value: &choice{options: []string{"skip", "allow", "queue", "cancel"}},
			doc: "What to do while the last execution still runs: `skip` this start, `allow` both, `queue` it, or `cancel` the running one."},
		{name: "catch_up", value: fixedDuration, example: "1h", doc: "How late a start that was missed may still be made up for.", fallback: "not at all"},
		{name: "input", value: template, example: "{ kind: nightly }", doc: "The input of the execution.", fallback: "`{}`"},
	},
}

var webhookShape = &object{
	name: "webhook",
	doc:  "Starts an execution for each verified request, or makes an event of it.",
	most: [][]string{{"input", "emit"}},
	words: []word{
		{name: "path", required: true, example: "/hooks/payments", doc: "The path of the request, below the address of the API. It begins with `/hooks`, whether that is written or not.",
			value: &scalar{name: "a path", pattern: webhookPath.String(), max: 256, hint: "write a path such as /hooks/payments",
				problem: patternProblem(webhookPath, "a path of letters, digits and any of . _ ~ -", "write a path such as /hooks/payments")}},
		{name: "verify", required: true, value: verifyShape, example: "{ bearer: hook_token }", doc: "How the sender proves itself."},
		{name: "input", value: template, example: "'${ event.data }'", doc: "The input of the execution.", fallback: "the body of the request"},
		{name: "emit", value: hookEmitShape, example: "{ type: Paid, key: event.data.order }", doc: "Makes an event of the request, `from: webhook`, and starts no execution by itself."},
	},
}

var hookEmitShape = &object{
	name: "emit of a webhook",
	doc:  "The event that a request becomes: executions that wait for it go on, and triggers of its type start others.",
	hint: "write { type: Paid, key: event.data.order }",
	words: []word{
		{name: "type", required: true, value: mixed, example: "Paid", doc: "The type of the event."},
		{name: "key", value: bareTemplate, example: "event.data.order", doc: "What the event is about."},
		{name: "data", value: template, example: "'${ event.data.payment }'", doc: "Its content.", fallback: "the body of the request"},
	},
}

var verifyShape = &object{
	name: "verify",
	doc:  "How the sender of a webhook proves itself. Secrets stand here by name, never by value.",
	one:  []string{"hmac_sha256", "bearer"},
	words: []word{
		{name: "hmac_sha256", value: secret, example: "payments_key", doc: "The name of the secret that signs the body."},
		{name: "header", value: header, example: "X-Signature", doc: "The header that holds the signature, in hex or base64. `Stripe-Signature`, `Webhook-Signature`, `Svix-Signature` and `X-Slack-Signature` are in their senders' own form.", fallback: "X-Signature", only: []string{"hmac_sha256"}},
		{name: "bearer", value: secret, example: "hook_token", doc: "The name of the secret that stands in the Authorization header."},
	},
}
