package fit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Codes of findings.
const (
	CodeTimeout         = "aws/timeout"          // an attempt may take longer than its function runs
	CodeUnknownKind     = "aws/unknown-kind"     // no function runs steps of the kind
	CodeUnknownFunction = "aws/unknown-function" // no worker class has the function
	CodeNotAllowed      = "aws/not-allowed"      // the deployment may not call the Lambda function
	CodeNoPrograms      = "aws/no-programs"      // `function: { command: … }`
)

// Kinds are the kinds of activities that functions of a deployment run.
var Kinds = []workflow.Kind{workflow.KindFunction, workflow.KindGRPC, workflow.KindHTTP, workflow.KindScript}

// Check returns what of a workflow cannot run on a deployment, each an error, in the order of its steps. File is for the findings.
func Check(d stack.Deployment, file string, def *workflow.Definition) []dsl.Diagnostic {
	c := &check{Deployment: d, file: file}
	c.body(def.Body)
	return c.found
}

// On is Check on one deployment, as the API wants it.
func On(d stack.Deployment) func(file string, def *workflow.Definition) []dsl.Diagnostic {
	return func(file string, def *workflow.Definition) []dsl.Diagnostic { return Check(d, file, def) }
}

type check struct {
	stack.Deployment
	file  string
	found []dsl.Diagnostic
}

func (c *check) body(b workflow.Body) {
	for i := range b.Steps {
		s := &b.Steps[i]
		c.call(s, "step "+s.Name, s.Kind, s.Call, s.Timeout)
		if undo := s.Compensate; undo != nil {
			c.call(s, "the compensation of step "+s.Name, undo.Kind, undo.Call, undo.Timeout)
		}
		if h := s.Human; h != nil {
			c.call(s, "the notice of step "+s.Name, h.NotifyKind, h.Notify, nil)
		}
		switch {
		case s.Foreach != nil:
			c.body(s.Foreach.Body)
		case s.Loop != nil:
			c.body(s.Loop.Body)
		case s.Group != nil:
			c.body(s.Group.Body)
		case s.Race != nil:
			for _, branch := range s.Race.Branches {
				c.body(branch.Body)
			}
		}
	}
}

// call checks one call of a step. What an expression says is not known yet: then the limits hold when it runs.
func (c *check) call(s *workflow.Step, what string, kind workflow.Kind, call *workflow.Call, timeout *workflow.Duration) {
	if call == nil {
		return
	}
	class := defaultClass
	switch {
	case !slices.Contains(Kinds, kind):
		c.report(call.Target.At, CodeUnknownKind, fmt.Sprintf("nothing on AWS runs steps of kind `%s` yet", kind), "kinds that run there: "+kinds())
		return
	case kind == workflow.KindFunction:
		class = c.function(call)
	}
	if class == "" || call.Callback || timeout == nil || timeout.Expr != nil { // who answers by a callback does not run meanwhile
		return
	}
	if longest := c.Longest(class); time.Duration(timeout.Fixed) > longest {
		at := s.At
		if at.Line == 0 {
			at = call.Target.At
		}
		bound := fmt.Sprintf("the function of class %s that runs it takes at most %s", class, short(longest))
		if c.Unknown {
			bound = "no function on AWS runs longer than " + short(longest)
		}
		c.report(at, CodeTimeout, fmt.Sprintf("%s may take %s, and %s", what, short(time.Duration(timeout.Fixed)), bound),
			"let it start the work and answer later (`callback: true`), or split it into steps or a child workflow; a step that only waits is a `timer`, `event` or `human`")
	}
}

const defaultClass = "default"

// function checks what a function's step calls, and returns the class that runs it; "" if that is not known or nobody does.
func (c *check) function(call *workflow.Call) string {
	if call.Name != "" {
		switch class := c.ClassOf(call.Name); {
		case class != "":
			return class
		case c.Unknown:
			return defaultClass // no class may run longer
		case !slices.Contains(c.Functions, call.Name):
			c.report(call.Target.At, CodeUnknownFunction, fmt.Sprintf("no worker class of this deployment runs the function %q", call.Name), c.instead(call.Name))
			return ""
		}
		return defaultClass
	}
	var target struct{ ARN, Command json.RawMessage }
	if call.Target == nil || json.Unmarshal(call.Target.JSON, &target) != nil {
		return defaultClass // a name that an expression makes
	}
	var arn string
	switch {
	case target.Command != nil:
		c.report(call.Target.At, CodeNoPrograms, "there are no programs on AWS to run by `command`",
			"make it a Lambda function (`function: { arn: … }`), a function of a worker class of yours, or a service (`function: { url: … }`)")
		return ""
	case target.ARN == nil || c.Unknown || len(call.Target.Leaves) > 0 || json.Unmarshal(target.ARN, &arn) != nil:
	case !slices.ContainsFunc(c.Invoke, func(pattern string) bool { return covers(pattern, arn) }):
		c.report(call.Target.At, CodeNotAllowed, fmt.Sprintf("this deployment may not call %s", arn),
			"name it in the stack's InvokeFunctions (cdk deploy -c invokeFunctions=ARN,…) and deploy the stack; it may call: "+list(c.Invoke))
	}
	return defaultClass
}

// instead says which functions there are.
func (c *check) instead(name string) string {
	known := slices.Clone(c.Functions)
	for _, r := range c.Routes {
		known = append(known, r.Functions)
	}
	text := "name it in the Functions of a worker class of the stack and deploy the stack; there are: " + list(known)
	if near := dsl.Nearest(name, known); near != "" {
		text = fmt.Sprintf("did you mean %q? Otherwise %s", near, text)
	}
	return text
}

func (c *check) report(at workflow.Position, code, message, suggestion string) {
	c.found = append(c.found, dsl.Diagnostic{File: c.file, Line: at.Line, Column: at.Column, Code: code, Severity: dsl.SeverityError, Message: message, Suggestion: suggestion})
}

// covers reports whether an ARN with * in it stands for a function.
func covers(pattern, arn string) bool {
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(arn, parts[0])
	if !ok || len(parts) == 1 {
		return ok && rest == ""
	}
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

// short is a duration in the words of the language: 14m55s, 2h.
func short(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

func kinds() string {
	var names []string
	for _, k := range Kinds {
		names = append(names, "`"+string(k)+"`")
	}
	return strings.Join(names, ", ")
}

// list is the first of some names.
func list(names []string) string {
	const shown = 12
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > shown:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return strings.Join(names, ", ")
}
