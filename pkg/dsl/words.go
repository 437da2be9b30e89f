package dsl

import "regexp"

// Bounds of the language, beside those of one document (load.go).
const (
	maxSteps    = 10_000 // in one document, bodies included
	maxNesting  = 16     // bodies inside each other
	maxName     = 64     // characters of a step, variable or branch name
	maxList     = 1_000  // entries of a list of the language
	maxAttempts = 1_000
	maxCount    = 1_000_000
)

// The shapes that many words share.
var (
	template     = &anything{}
	bareTemplate = &anything{bare: true}
	expressions  = expression{}
	boolean      = truth{}

	prose = &scalar{name: "a text", max: 4096, verbatim: true}
	mixed = &scalar{name: "a text", mixed: true, min: 1}
	// address is that of a request.
	address = &scalar{name: "an address", mixed: true, problem: urlProblem, pattern: `^https?://|\$\{`, hint: "write an address such as https://pay.example/charges"}
	// simple is a text that numbers and booleans may stand for.
	simple = &scalar{name: "a text", mixed: true, kinds: []nodeKind{kindString, kindInt, kindFloat, kindBool}}

	duration = &scalar{name: "a duration", dynamic: true, problem: durationProblem, pattern: durationPattern,
		hint: "write a number with a unit in one word, such as 30s, 15m, 2h, 7d or 1d12h"}
	positiveDuration = &scalar{name: "a duration", dynamic: true, problem: positiveDurationProblem, pattern: durationPattern,
		hint: duration.hint}
	fixedDuration = &scalar{name: "a fixed duration", problem: positiveDurationProblem, pattern: durationPattern, hint: duration.hint}
	size          = &scalar{name: "a size", problem: sizeProblem, pattern: sizeForm.String(),
		hint: "write a whole number with a unit in one word, such as 512MiB or 2GB"}
	timestamp = &scalar{name: "a time", dynamic: true, problem: timeProblem, pattern: `^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}`,
		hint: "write a time such as 2027-01-31T09:00:00Z, or an expression that yields one"}
	fixedTime = &scalar{name: "a fixed time", problem: timeProblem, pattern: timestamp.pattern, hint: "write a time such as 2027-01-31T09:00:00Z"}
	date      = &scalar{name: "a date", problem: dateProblem, pattern: `^\d{4}-\d{2}-\d{2}$`, hint: "write a date such as '2027-01-31'"}
	zone      = &scalar{name: "a time zone", problem: zoneProblem, pattern: `^[A-Za-z0-9+_/-]+$`, hint: "write a name such as Europe/Stockholm"}
	cron      = &scalar{name: "a cron expression", problem: cronProblem, pattern: `^\S+(\s+\S+){4}$`,
		hint: "write five fields in quotes, such as '0 9 * * MON-FRI'"}

	attempts = &count{min: 1, max: maxAttempts}
	positive = &count{min: 1, max: maxCount}
	natural  = &count{min: 0, max: maxCount}
)

const durationPattern = `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h|d))+$`

// Names that authors give.
var (
	stepNames = &names{what: "a step name", pattern: identifier, max: maxName, rule: identifierRule, reserved: reservedName, taken: reservedNames()}
	varNames  = &names{what: "a variable name", pattern: identifier, max: maxName, rule: identifierRule, reserved: reservedName, taken: reservedNames()}
	raceNames = &names{what: "a branch name", pattern: identifier, max: maxName, rule: identifierRule, reserved: reservedName, taken: reservedNames()}
	labelKeys = &names{what: "a label", pattern: labelKey, max: maxName, rule: "letters, digits and any of . _ / -"}
	fieldKeys = &names{what: "a field name", pattern: anyKey, max: maxKey, rule: "not empty"}
	headers   = &names{what: "a header name", pattern: headerName, max: 128, rule: "letters, digits and -"}

	stepName = &scalar{name: "a step name", problem: nameProblem(stepNames), pattern: identifier.String(), max: maxKey, hint: "write the name of a step"}
	itemName = &scalar{name: "a name", problem: nameProblem(&names{what: "a name", pattern: identifier, max: maxName, rule: identifierRule}),
		pattern: identifier.String(), max: maxKey, hint: "write a name such as item"}
	secret = &scalar{name: "the name of a secret", problem: patternProblem(secretName, "the name of a secret", "write a name; the value stands in the secret store"),
		pattern: secretName.String(), hint: "write the name of a secret"}
	registered = &scalar{name: "the name of a function", dynamic: true, pattern: callName.String(),
		problem: patternProblem(callName, "the name of a function", "write a registered name, such as inventory.reserve"), hint: "write a registered name, such as inventory.reserve"}
	header = &scalar{name: "a header name", problem: patternProblem(headerName, "a header name", "write a name such as X-Signature"),
		pattern: headerName.String(), hint: "write a name such as X-Signature"}
)

var anyKey = regexp.MustCompile(`^.+$`)

const identifierRule = "write letters, digits and _, not starting with a digit"

func nameProblem(n *names) func(string) (string, string) { return n.problem }

// celWords are the words that CEL keeps for itself (language definition, Syntax); expressions could not read a name
// that is one of them.
var celWords = []string{"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
	"namespace", "null", "package", "return", "true", "var", "void", "while"}

func reservedNames() []string { return celWords }

func reservedName(name string) string {
	for _, w := range celWords {
		if name == w {
			return "expressions keep that word for themselves"
		}
	}
	return ""
}

// Lists of names.
var (
	thenList = &variants{name: "a step name or a list of them", text: stepName, list: &list{item: stepName, what: "step names", min: 1, max: maxList, unique: true},
		hint: "write the name of a step, or [ a, b ]"}
	stepList = &list{item: stepName, what: "step names", max: maxList, unique: true}
)

// schemaBlock is the mapping around a JSON Schema: `input`, `form`, `output`.
var schemaBlock = &object{name: "schema block", doc: "The mapping around a JSON Schema.", hint: "write { schema: { type: object } }", words: []word{
	{name: "schema", required: true, value: jsonSchema{}, example: "{ type: object, required: [ id ] }",
		doc: "A JSON Schema (2020-12). It refers to nothing outside itself."},
}}

// reservedWords are refused in the document and in each step, until they work.
func reservedWords() []word {
	return []word{
		{name: "concurrency", reserved: "limit inside one execution with `limits: { max_parallelism: … }`", value: template, doc: "A limit across executions."},
		{name: "mutex", reserved: "let one workflow own the resource and send it events", value: template, doc: "A lock across executions."},
		{name: "permissions", reserved: "give the worker's role just the rights it needs", value: template, doc: "What a workflow may do."},
		{name: "reply", reserved: "read the output of the finished execution, or `emit` an event", value: template, doc: "An answer to the caller before the end."},
		{name: "view", reserved: "read the status of the execution by its API", value: template, doc: "What outsiders see of a running execution."},
	}
}
