package iampolicy

import (
	"slices"
	"strings"
)

// operators are tests of one value of the request against one of the policy. Those of them that are negative must hold for all values of the
// policy, the others for one.
var operators = map[string]struct {
	matches  func(policy, request string) bool
	negative bool
}{
	"StringEquals":              {matches: func(p, r string) bool { return p == r }},
	"StringNotEquals":           {matches: func(p, r string) bool { return p != r }, negative: true},
	"StringEqualsIgnoreCase":    {matches: strings.EqualFold},
	"StringNotEqualsIgnoreCase": {matches: func(p, r string) bool { return !strings.EqualFold(p, r) }, negative: true},
	"StringLike":                {matches: like},
	"StringNotLike":             {matches: func(p, r string) bool { return !like(p, r) }, negative: true},
	"ArnEquals":                 {matches: MatchResource},
	"ArnLike":                   {matches: MatchResource},
	"ArnNotEquals":              {matches: func(p, r string) bool { return !MatchResource(p, r) }, negative: true},
	"ArnNotLike":                {matches: func(p, r string) bool { return !MatchResource(p, r) }, negative: true},
	"Bool":                      {matches: strings.EqualFold},
}

const null = "Null"

// manner is how an operator deals with keys of many values and of none.
type manner struct{ forAll, forAny, ifExists bool }

// test takes an operator apart, and reports whether it is known.
func test(operator string) (name string, how manner, ok bool) {
	name = operator
	if rest, is := strings.CutPrefix(name, "ForAllValues:"); is {
		name, how.forAll = rest, true
	} else if rest, is := strings.CutPrefix(name, "ForAnyValue:"); is {
		name, how.forAny = rest, true
	}
	if name == null {
		return name, how, operator == null
	}
	name, how.ifExists = strings.CutSuffix(name, "IfExists")
	_, ok = operators[name]
	return name, how, ok
}

// holds reports whether all conditions hold.
func (s *Statement) holds(context map[string][]string) bool {
	for operator, keys := range s.Conditions { // order-free: all must hold
		name, how, _ := test(operator)
		for key, values := range keys { // order-free: all must hold
			if !holds(name, how, values, valuesOf(context, key)) {
				return false
			}
		}
	}
	return true
}

// valuesOf finds a key. Letters may be of either case.
func valuesOf(context map[string][]string, key string) []string {
	for k, values := range context { // order-free: keys differ by more than case
		if strings.EqualFold(k, key) {
			return values
		}
	}
	return nil
}

func holds(name string, how manner, policy, request []string) bool {
	if name == null {
		absent := len(request) == 0
		return slices.ContainsFunc(policy, func(v string) bool { return strings.EqualFold(v, "true") == absent })
	}
	op := operators[name]
	one := func(r string) bool {
		if op.negative {
			return !slices.ContainsFunc(policy, func(p string) bool { return !op.matches(p, r) })
		}
		return slices.ContainsFunc(policy, func(p string) bool { return op.matches(p, r) })
	}
	switch {
	case len(request) == 0:
		return how.ifExists || how.forAll || op.negative && !how.forAny
	case how.forAll:
		return !slices.ContainsFunc(request, func(r string) bool { return !one(r) })
	case how.forAny:
		return slices.ContainsFunc(request, one)
	}
	return len(request) == 1 && one(request[0])
}
