package rights

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wovyr/wovyr/internal/awsproxy"
	"github.com/wovyr/wovyr/internal/iampolicy"
)

// Missing says which calls the roles of their functions do not allow, one line for each function, action and resource.
func Missing(at Place, roles map[string]Role, calls map[awsproxy.Call]int) []string {
	counts := map[string]int{}
	for c, n := range calls { // order-free: sums
		role, ok := roles[c.Function]
		if !ok {
			counts[fmt.Sprintf("%q is no function of the stack, and calls %s of %s", c.Function, c.Operation, c.Service)] += n
			continue
		}
		for _, r := range Requests(at, role, c) {
			if !iampolicy.Decide(role.Policies, r).Allowed {
				counts[fmt.Sprintf("%s may not do what it does: %s", c.Function, r)] += n
			}
		}
	}
	out := make([]string, 0, len(counts))
	for _, text := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprintf("%s (%d times)", text, counts[text]))
	}
	return out
}

// Grant is one action on one resource that a role allows.
type Grant struct{ Function, Action, Resource string }

// String is for messages.
func (g Grant) String() string { return g.Function + " may " + g.Action + " on " + g.Resource }

// Grants are all that the roles allow.
func Grants(roles map[string]Role) []Grant {
	var out []Grant
	for _, name := range slices.Sorted(maps.Keys(roles)) {
		for _, p := range roles[name].Policies {
			for _, s := range p.Statements {
				if s.Effect != iampolicy.Allow {
					continue
				}
				for _, action := range s.Actions {
					for _, resource := range s.Resources {
						out = append(out, Grant{name, action, resource})
					}
				}
			}
		}
	}
	return out
}

// Unused returns the grants that no call needed: none that was seen, and none of those with which Lambda reads a function's sources.
func Unused(at Place, roles map[string]Role, calls map[awsproxy.Call]int) []Grant {
	asked := map[string]map[string]iampolicy.Request{}
	note := func(function string, r iampolicy.Request) {
		if asked[function] == nil {
			asked[function] = map[string]iampolicy.Request{}
		}
		asked[function][r.Action+" "+r.Resource] = r
	}
	for c := range calls { // order-free: a set
		for _, r := range Requests(at, roles[c.Function], c) {
			note(c.Function, r)
		}
	}
	for name, role := range roles { // order-free: a set
		for _, source := range role.Sources {
			for _, r := range Polling(source) {
				note(name, r)
			}
		}
	}
	return slices.DeleteFunc(Grants(roles), func(g Grant) bool {
		for _, r := range asked[g.Function] { // order-free: one is enough
			if iampolicy.MatchAction(g.Action, r.Action) && iampolicy.MatchResource(g.Resource, r.Resource) {
				return true
			}
		}
		return false
	})
}

// Reason explains grants that a run of the scenarios may leave unused.
type Reason struct {
	// Functions have the grant; none: all functions that have it.
	Functions []string
	// Actions are those of the grant, and Resource is a part of the resource's name; empty: any.
	Actions  []string
	Resource string
	Why      string
}

func (r Reason) explains(g Grant) bool {
	return (len(r.Functions) == 0 || slices.Contains(r.Functions, g.Function)) && slices.Contains(r.Actions, g.Action) && strings.Contains(g.Resource, r.Resource)
}

// Unexplained says which grants are there for nothing: not used and not explained. A reason that explains nothing that is granted is named too.
func Unexplained(grants, unused []Grant, reasons []Reason) []string {
	var out []string
	for _, g := range unused {
		if !slices.ContainsFunc(reasons, func(r Reason) bool { return r.explains(g) }) {
			out = append(out, g.String()+", and nothing did: take it away, or explain it in localstack/rights/reasons.go")
		}
	}
	for _, r := range reasons {
		if !slices.ContainsFunc(grants, r.explains) {
			out = append(out, fmt.Sprintf("the reason %q of localstack/rights/reasons.go explains no grant: remove it", r.Why))
		}
	}
	return out
}
