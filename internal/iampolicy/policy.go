package iampolicy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Policy is a policy document.
type Policy struct {
	Version    string
	ID         string          `json:"Id"`
	Statements list[Statement] `json:"Statement"`
}

// Statement is one statement of a policy.
type Statement struct {
	SID       string `json:"Sid"`
	Effect    Effect
	Actions   list[string] `json:"Action"`
	Resources list[string] `json:"Resource"`
	// Conditions are values by keys by operators; all of them must hold.
	Conditions map[string]map[string]list[string] `json:"Condition"`
}

// Effect is what a statement that fits leads to.
type Effect string

// The effects.
const (
	Allow Effect = "Allow"
	Deny  Effect = "Deny"
)

// list is one or many: policies write a list of one without brackets.
type list[T any] []T

// UnmarshalJSON implements json.Unmarshaler.
func (l *list[T]) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte("[")) {
		var many []T
		err := strictly(text, &many)
		*l = many
		return err
	}
	one := make([]T, 1)
	err := strictly(text, &one[0])
	*l = one
	return err
}

// strictly refuses elements that are not known here, such as NotAction.
func strictly(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// Parse reads a policy document. An element or an operator of a condition that is not known here is an error.
func Parse(document []byte) (Policy, error) {
	var p Policy
	if err := strictly(document, &p); err != nil {
		return p, fmt.Errorf("iampolicy: %w", err)
	}
	for i, s := range p.Statements {
		if s.Effect != Allow && s.Effect != Deny {
			return p, fmt.Errorf("iampolicy: statement %d (%s): the effect is %q", i, s.SID, s.Effect)
		}
		if len(s.Actions) == 0 || len(s.Resources) == 0 {
			return p, fmt.Errorf("iampolicy: statement %d (%s) names no action or no resource", i, s.SID)
		}
		for operator := range s.Conditions { // order-free: the first wrong one is as good as another
			if _, _, ok := test(operator); !ok {
				return p, fmt.Errorf("iampolicy: statement %d (%s): the operator %s is not known here", i, s.SID, operator)
			}
		}
	}
	return p, nil
}

// Request is what a principal wants to do.
type Request struct {
	// Action is a service and an action, such as dynamodb:PutItem.
	Action string
	// Resource is an ARN.
	Resource string
	// Context holds the values of condition keys. A key that is not there has no value.
	Context map[string][]string
}

// String is for messages.
func (r Request) String() string {
	if len(r.Context) == 0 {
		return r.Action + " on " + r.Resource
	}
	return fmt.Sprintf("%s on %s with %v", r.Action, r.Resource, r.Context)
}

// Decision is the answer to a request.
type Decision struct {
	Allowed bool
	// By is the statement that decided; nil: no statement fits, which refuses.
	By *Statement
}

// Decide says what the policies of a principal, together, make of a request.
func Decide(policies []Policy, r Request) Decision {
	var d Decision
	for _, p := range policies {
		for i := range p.Statements {
			s := &p.Statements[i]
			if !s.fits(r) {
				continue
			}
			if s.Effect == Deny {
				return Decision{By: s}
			}
			if d.By == nil {
				d = Decision{Allowed: true, By: s}
			}
		}
	}
	return d
}

func (s *Statement) fits(r Request) bool {
	return slices.ContainsFunc(s.Actions, func(p string) bool { return MatchAction(p, r.Action) }) &&
		slices.ContainsFunc(s.Resources, func(p string) bool { return MatchResource(p, r.Resource) }) && s.holds(r.Context)
}

// MatchAction reports whether a pattern of a statement names an action. Letters may be of either case.
func MatchAction(pattern, action string) bool {
	return like(strings.ToLower(pattern), strings.ToLower(action))
}

// MatchResource reports whether a pattern of a statement names a resource. A wildcard reaches no further than its part of the ARN, up to the
// last part, which may have colons of its own.
func MatchResource(pattern, arn string) bool {
	if pattern == "*" {
		return true
	}
	const parts = 6
	p, a := strings.SplitN(pattern, ":", parts), strings.SplitN(arn, ":", parts)
	if len(p) != parts || len(a) != parts {
		return false
	}
	for i := range p {
		if !like(p[i], a[i]) {
			return false
		}
	}
	return true
}

// like matches with wildcards: * for any text, ? for one character.
func like(pattern, text string) bool {
	// back is where the last * stood, and from where in the text it may take one character more.
	p, t, back, from := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			back, from = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p, t = p+1, t+1
		case back >= 0:
			from++
			p, t = back+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
