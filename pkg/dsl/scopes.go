package dsl

import (
	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// The types of names that are the same everywhere.
var (
	errorType = expr.Record(map[string]*expr.Type{
		"code": expr.String, "category": expr.String, "message": expr.String, "retryable": expr.Bool, "details": expr.Dyn,
	}, true)
	// executionType has all fields; checkEnded says where those of the end exist.
	executionType = expr.Record(map[string]*expr.Type{
		"id": expr.String, "workflow": expr.String, "version": expr.String, "tenant": expr.String,
		"correlation_id": expr.String, "started_at": expr.Timestamp,
		"outcome": expr.String, "compensated": expr.Bool, "duration": expr.Duration,
		"failures": expr.ListOf(expr.Record(map[string]*expr.Type{"step": expr.String, "error": errorType}, true)),
	}, true)
	callbackType = expr.Record(map[string]*expr.Type{"url": expr.String, "token": expr.String}, true)
	taskType     = expr.Record(map[string]*expr.Type{"id": expr.String, "url": expr.String}, false)
	secretsType  = expr.MapOf(expr.String)
	startedType  = expr.Record(map[string]*expr.Type{"execution_id": expr.String}, true)
	httpType     = expr.Record(map[string]*expr.Type{"status": expr.Int, "headers": expr.MapOf(expr.String), "body": expr.Dyn}, true)
)

func eventRecord(data *expr.Type) *expr.Type {
	return expr.Record(map[string]*expr.Type{
		"id": expr.String, "type": expr.String, "source": expr.String.OrNull(), "key": expr.String.OrNull(), "data": data, "received_at": expr.String,
	}, true)
}

// stepRecord is the type of steps.<id> for an output type.
func stepRecord(output *expr.Type) *expr.Type {
	return expr.Record(map[string]*expr.Type{
		"output": output, "status": expr.String, "error": errorType.OrNull(), "attempts": expr.Int,
		"started_at": expr.Timestamp.OrNull(), "completed_at": expr.Timestamp.OrNull(), "execution_id": expr.String.OrNull(),
	}, true)
}

// scope declares the names of a site.
func (a *analysis) scope(s *site) *expr.Scope {
	sc := expr.NewScope()
	if s.names&nameInput != 0 {
		sc = sc.With("input", a.input)
	}
	if s.names&nameExecution != 0 {
		sc = sc.With("execution", executionType)
	}
	if s.names&nameVars != 0 && len(a.def.Vars) > 0 {
		sc = sc.With("vars", a.varsType)
	}
	if s.names&nameSteps != 0 {
		sc = a.bodyNames(sc, s.block).With("steps", a.stepsType(s, false))
		if s.loop() != nil {
			sc = sc.With("previous", a.stepsType(s, true)).With("iteration", expr.Int)
		}
	}
	return a.placeNames(sc, s)
}

// bodyNames declares what the bodies around a site offer: items and their index.
func (a *analysis) bodyNames(sc *expr.Scope, b *block) *expr.Scope {
	if b == nil || b.owner == nil {
		return sc
	}
	sc = a.bodyNames(sc, b.outer)
	if f := b.owner.step.Foreach; f != nil {
		sc = sc.With("index", expr.Int).With(f.As, b.item())
	}
	return sc
}

// item is the type of the items of a foreach.
func (b *block) item() *expr.Type {
	if items := b.owner.site("/foreach/items"); items != nil && items.typ != nil {
		return items.typ.Item()
	}
	return expr.Dyn
}

// site returns the site of a step at a pointer below it, or nil.
func (u *unit) site(where string) *site {
	for _, s := range u.sites {
		if s.where == where {
			return s
		}
	}
	return nil
}

// stepsType declares just the steps that a site reads: a scope may see thousands of them. Those that do not exist were
// reported when the names were resolved.
func (a *analysis) stepsType(s *site, previous bool) *expr.Type {
	root := "steps"
	if previous {
		root = "previous"
	}
	fields := map[string]*expr.Type{}
	for _, r := range s.reads {
		if r.Root == root && len(r.Path) > 0 {
			fields[r.Path[0]] = expr.Dyn
		}
	}
	for _, r := range s.steps {
		if r.previous == previous {
			fields[r.Path[0]] = a.typeOfStep(r.unit)
		}
	}
	return expr.Record(fields, false)
}

// placeNames declares the names that only some places have.
func (a *analysis) placeNames(sc *expr.Scope, s *site) *expr.Scope {
	add := func(flag nameSet, name string, typ func() *expr.Type) {
		if s.names&flag != 0 {
			sc = sc.With(name, typ())
		}
	}
	fixed := func(t *expr.Type) func() *expr.Type { return func() *expr.Type { return t } }
	add(nameError, "error", fixed(errorType.OrNull()))
	add(nameSecrets, "secrets", fixed(secretsType))
	add(nameCallback, "callback", fixed(callbackType))
	add(nameTask, "task", fixed(taskType))
	add(nameEvent, "event", func() *expr.Type {
		if s.unit == nil || s.unit.step.Event == nil {
			return eventRecord(expr.Dyn)
		}
		return eventRecord(a.schemaType(s.unit.step.Event.Schema))
	})
	add(nameOutput, "output", func() *expr.Type { return a.outputOf(s.unit) })
	add(nameCollected, "collected", func() *expr.Type { return a.outputOf(s.unit) })
	add(nameValue, "value", func() *expr.Type { return s.unit.matched() })
	for _, name := range s.bound {
		sc = sc.With(name, expr.Dyn)
	}
	for _, r := range s.reads { // reported by checkRoots
		if stray(s, r.Root) != "" {
			sc = sc.With(r.Root, expr.Dyn)
		}
	}
	return sc
}

// matched is the type of the value of a match.
func (u *unit) matched() *expr.Type {
	if value := u.site("/match"); value != nil && value.typ != nil {
		return value.typ
	}
	return expr.Dyn
}

// checkRoots reports names of the language that exist, but not here. Names of any other kind are the expression's own matter.
func (a *analysis) checkRoots(s *site) {
	for i, r := range s.reads {
		if i > 0 && s.reads[i-1].Root == r.Root {
			continue
		}
		if where := stray(s, r.Root); where != "" {
			a.readErrorf(s, r.Root, "", "dsl/name-scope", strayHint(s, r.Root), "`%s` exists only %s", r.Root, where)
		}
	}
	a.checkEnded(s)
}

// checkEnded reports reads of how the execution ended before it has.
func (a *analysis) checkEnded(s *site) {
	if s.names&nameExecution == 0 || s.unit != nil && s.unit.exit {
		return
	}
	for _, r := range s.reads {
		if r.Root != "execution" || len(r.Path) == 0 {
			continue
		}
		switch name := r.Path[0]; name {
		case "outcome", "compensated", "failures", "duration":
			a.readErrorf(s, "execution", name, "dsl/name-scope", "move it to a step that `on_exit` names",
				"`execution.%s` exists only in steps of `on_exit`", name)
		}
	}
}

// stray says where a name of the language exists if it does not exist at this site.
func stray(s *site, root string) string {
	missing := func(flag nameSet) bool { return s.names&flag == 0 }
	inside := func(is func(*workflow.Step) bool) bool {
		for b := s.block; b != nil && b.owner != nil; b = b.outer {
			if is(b.owner.step) {
				return true
			}
		}
		return false
	}
	for _, name := range s.bound {
		if name == root {
			return ""
		}
	}
	switch root {
	case "input":
		return unless(!missing(nameInput), "once an execution has started")
	case "execution":
		return unless(!missing(nameExecution), "once an execution has started")
	case "steps":
		return unless(!missing(nameSteps), "in steps and in the output of the workflow")
	case "vars":
		return unless(!missing(nameVars), "in steps and in the output of the workflow")
	case "index":
		return unless(inside(func(st *workflow.Step) bool { return st.Foreach != nil }), "in the body of a foreach")
	case "iteration", "previous":
		return unless(!missing(nameSteps) && s.loop() != nil, "in a loop")
	case "collected":
		return unless(!missing(nameCollected), "in `until` of a foreach")
	case "event":
		return unless(!missing(nameEvent), "in `match` of an event and in triggers")
	case "output":
		return unless(!missing(nameOutput), "in `compensate`")
	case "error":
		return unless(!missing(nameError), "in `on_error`, `retry` and `compensate`")
	case "value":
		return unless(!missing(nameValue), "in the cases of a match")
	case "secrets":
		return unless(!missing(nameSecrets), "where an activity reads its input, so that the value reaches no history")
	case "callback":
		return unless(!missing(nameCallback), "in the input of a step with `callback: true`")
	case "task":
		return unless(!missing(nameTask), "in `notify` of a human step")
	}
	return ""
}

func unless(here bool, where string) string {
	if here {
		return ""
	}
	return where
}

// strayHints say what to write instead of a name that is not there.
var strayHints = map[string]string{
	"secrets":   "hand it to the call that needs it, as in headers: { Authorization: 'Bearer ${ secrets.pay }' }",
	"callback":  "write `callback: true` beside the kind of the step",
	"task":      "write steps.<id>.output for the decision",
	"output":    "write steps.<id>.output for the result of another step",
	"error":     "write steps.<id>.error for the error of another step",
	"value":     "write the expression of the match again, or read steps.<id>.output",
	"event":     "write steps.<id>.output for the event that a step got",
	"collected": "write steps.<id>.output for what a foreach collected",
	"index":     "name a foreach around it, or number the items with the macro map(i, x, …)",
	"iteration": "put the step into a loop",
	"previous":  "put the step into a loop, or read steps.<id>",
	"input":     "write a fixed value, or in a trigger read `event`",
	"execution": "write a fixed value, or in a trigger read `event`",
	"steps":     "read `input`; what the steps yield is not known yet",
	"vars":      "read `input`; variables have no value yet",
}

func strayHint(s *site, root string) string {
	if root == "callback" && s.moment == momentUndo {
		return "a compensation ends with its call; leave `callback` out"
	}
	if (root == "steps" || root == "vars") && s.names&nameEvent != 0 {
		return "read `event`; nothing else is there before an execution starts"
	}
	return strayHints[root]
}
