package fsm

import (
	"iter"
	"math/bits"
	"strings"
)

// Guard names one of the checks that the runtime makes before a transition is committed: the eight of WF-006 §10, and the
// one that the compensation of §16 needs. A guard is a pure predicate over Facts. The zero value is no guard, and holds
// for nothing.
type Guard struct{ guard uint8 }

// The codes give the order in which the guards of an edge are asked, and so which refusal is reported if there are
// several. Tenant and permissions come first: whoever may not act does not learn what else would have refused.
const (
	guardTenant = 1 + iota
	guardPermissions
	guardVersion
	guardOwnership
	guardLease
	guardDependencies
	guardResources
	guardTimeouts
	guardCompensation
)

var guardNames = names{what: "guard", list: []string{
	guardTenant:       "tenant",
	guardPermissions:  "permissions",
	guardVersion:      "version",
	guardOwnership:    "ownership",
	guardLease:        "lease",
	guardDependencies: "dependencies",
	guardResources:    "resources",
	guardTimeouts:     "timeouts",
	guardCompensation: "compensation",
}}

// GuardTenant is tenant isolation (§10, §27): whoever acts is of the execution's tenant. Facts: Tenant, ActorTenant.
func GuardTenant() Guard { return Guard{guardTenant} }

// GuardPermissions is security permissions (§10, §27): whoever acts has every permission that the transition requires, and
// it requires one. Facts: Required, Granted.
func GuardPermissions() Guard { return Guard{guardPermissions} }

// GuardVersion is the workflow version (§10, §13, §19): the decision was made on the version that is still the last.
// Facts: Version, Expected.
func GuardVersion() Guard { return Guard{guardVersion} }

// GuardOwnership is activity ownership (§10, §24): whoever acts holds the attempt. Facts: Owner, Actor.
func GuardOwnership() Guard { return Guard{guardOwnership} }

// GuardLease is worker lease validity (§10, §19): the fence that the actor holds is the attempt's present one. No clock
// is asked: a lease ends when its expiry is recorded, which raises the fence. Facts: Fence, HeldFence.
func GuardLease() Guard { return Guard{guardLease} }

// GuardDependencies is dependency completion (§10, §24): all that must have ended before has ended. Facts: Needs, Met.
func GuardDependencies() Guard { return Guard{guardDependencies} }

// GuardResources is resource availability (§10; WF-002 §20): what the transition takes is free. Facts: Need, Free.
func GuardResources() Guard { return Guard{guardResources} }

// GuardTimeouts is timeout constraints (§10, §18): what is reported took place by its deadline, if it has one.
// Facts: At, Deadline.
func GuardTimeouts() Guard { return Guard{guardTimeouts} }

// GuardCompensation opens the one way out of Failed (§8, §16): compensation is configured and due.
// Facts: CompensationConfigured, CompensationDue.
func GuardCompensation() Guard { return Guard{guardCompensation} }

// Guards yields all guards in the order in which they are asked.
func Guards() iter.Seq[Guard] {
	return each(&guardNames, func(c uint8) Guard { return Guard{c} })
}

// String returns the guard's stable name, "None" for no guard.
func (g Guard) String() string { return guardNames.text(g.guard) }

// MarshalText returns the guard's stable name; empty for no guard.
func (g Guard) MarshalText() ([]byte, error) { return []byte(guardNames.list[g.guard]), nil }

// UnmarshalText takes what MarshalText gives; anything else is a *ParseError.
func (g *Guard) UnmarshalText(text []byte) error {
	c, err := guardNames.parseOrZero(text)
	if err != nil {
		return err
	}
	*g = Guard{c}
	return nil
}

// Holds reports whether the guard lets a transition with these facts pass. Facts that this guard does not read may be
// missing.
func (g Guard) Holds(f *Facts) bool {
	// A switch, not a table of functions: a call through a table would send the facts to the heap.
	switch g.guard {
	case guardTenant:
		return f.tenantHolds()
	case guardPermissions:
		return f.permissionsHold()
	case guardVersion:
		return f.versionHolds()
	case guardOwnership:
		return f.ownershipHolds()
	case guardLease:
		return f.leaseHolds()
	case guardDependencies:
		return f.dependenciesHold()
	case guardResources:
		return f.resourcesHold()
	case guardTimeouts:
		return f.timeoutsHold()
	case guardCompensation:
		return f.compensationHolds()
	}
	return false
}

// refusal says why Holds is false, and the way out.
func (g Guard) refusal(f *Facts) string {
	switch g.guard {
	case guardTenant:
		return f.tenantRefusal()
	case guardPermissions:
		return f.permissionsRefusal()
	case guardVersion:
		return f.versionRefusal()
	case guardOwnership:
		return f.ownershipRefusal()
	case guardLease:
		return f.leaseRefusal()
	case guardDependencies:
		return f.dependenciesRefusal()
	case guardResources:
		return f.resourcesRefusal()
	case guardTimeouts:
		return f.timeoutsRefusal()
	case guardCompensation:
		return f.compensationRefusal()
	}
	return "no such guard"
}

// GuardSet is the set of guards of one edge.
type GuardSet struct{ bits uint16 }

// NewGuardSet returns the set of the given guards; the zero Guard adds nothing.
func NewGuardSet(guards ...Guard) GuardSet {
	var s GuardSet
	for _, g := range guards {
		s.bits |= 1 << g.guard
	}
	s.bits &^= 1
	return s
}

// Has reports whether g is in the set.
func (s GuardSet) Has(g Guard) bool { return g.guard != 0 && s.bits&(1<<g.guard) != 0 }

// All yields the guards of the set in the order in which they are asked.
func (s GuardSet) All() iter.Seq[Guard] {
	return func(yield func(Guard) bool) {
		for rest := s.bits; rest != 0; rest &= rest - 1 {
			if !yield(Guard{uint8(bits.TrailingZeros16(rest))}) {
				return
			}
		}
	}
}

// String lists the guards: "tenant, version".
func (s GuardSet) String() string {
	var list []string
	for g := range s.All() {
		list = append(list, g.String())
	}
	return strings.Join(list, ", ")
}

// refusing returns the first guard that does not hold, or no guard.
func (s GuardSet) refusing(f *Facts) Guard {
	for rest := s.bits; rest != 0; rest &= rest - 1 {
		if g := (Guard{uint8(bits.TrailingZeros16(rest))}); !g.Holds(f) {
			return g
		}
	}
	return Guard{}
}
