package fsm

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Facts are what guards judge by: plain values that whoever asks for a transition has at hand. An edge reads only
// the facts of its own guards (docs/state-machines.md says which); the others may be left zero.
//
// Where a fact is about safety, leaving it out refuses: no tenant, no permission required, no actor, no fence.
// Where zero is a natural value it passes: nothing to wait for, nothing to take, no deadline. So an edge that is only
// walked to reach an end, as in a cancel, needs no facts about work that will never run.
type Facts struct {
	// Tenant is whom the execution belongs to; ActorTenant, whom the one who acts belongs to.
	Tenant, ActorTenant string

	// Required are the permissions that this transition needs, at least one; Granted, those of the one who acts.
	Required, Granted Permission

	// Version is that of the last recorded event, 0 before the first; Expected, the one that the decision was made
	// on. The record of the transition gets Version + 1.
	Version, Expected uint64

	// Owner is who may act for the attempt: the holder of its claim (where a step needs no claim, the receiver of its
	// message), or the engine once it took the attempt over (expired lease, timeout, cancel). Actor is who acts.
	Owner, Actor string

	// Fence is the attempt's present fence, from 1 on; HeldFence, the one that the actor was given with the attempt.
	Fence, HeldFence uint64

	// Needs is how many dependencies (for a join, how many of them; for an end, how many open steps) must have ended;
	// Met, how many have.
	Needs, Met uint32

	// Need is how much of the scarcest resource the transition takes, in that resource's unit (a slot of
	// max_parallelism, an attempt of retry, MB of memory); Free, how much is free.
	Need, Free uint64

	// At is when that which the event reports took place, by the event, never by a clock; Deadline, the last moment
	// allowed, zero if there is none.
	At, Deadline time.Time

	// CompensationConfigured says that the definition has compensation for this failure; CompensationDue, that there
	// is completed work to undo and it has not been tried.
	CompensationConfigured, CompensationDue bool
}

// Permission is a set of rights of whoever asks for a transition.
type Permission uint16

// The rights that transitions require.
const (
	PermissionCommit  Permission = 1 << iota // make the engine's own transitions: results, timers, timeouts
	PermissionStart                          // start executions of this workflow
	PermissionSignal                         // wake a waiting execution: signal, event, decision of a human
	PermissionCancel                         // cancel executions
	PermissionOperate                        // make an operator's moves
	PermissionRun                            // run this kind of activity
	PermissionSecrets                        // let it have the secrets that it names
)

var permissionNames = []string{"commit", "start", "signal", "cancel", "operate", "run", "secrets"}

// String lists the rights: "start, cancel"; "none" if there are none.
func (p Permission) String() string {
	var list []string
	for i, name := range permissionNames {
		if p&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	if rest := p >> len(permissionNames) << len(permissionNames); rest != 0 {
		list = append(list, fmt.Sprintf("%#x", uint16(rest)))
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

func (f *Facts) tenantHolds() bool { return f.Tenant != "" && f.Tenant == f.ActorTenant }

func (f *Facts) tenantRefusal() string {
	if f.Tenant == "" {
		return "the facts do not say whose execution this is: set Tenant"
	}
	return fmt.Sprintf("tenant %q may not act on an execution of another tenant", f.ActorTenant)
}

func (f *Facts) permissionsHold() bool { return f.Required != 0 && f.Required&^f.Granted == 0 }

func (f *Facts) permissionsRefusal() string {
	if f.Required == 0 {
		return "the facts do not say which permission this needs: set Required"
	}
	return fmt.Sprintf("it needs %s, of which is not granted: %s", f.Required, f.Required&^f.Granted)
}

func (f *Facts) versionHolds() bool { return f.Expected == f.Version && f.Version != math.MaxUint64 }

func (f *Facts) versionRefusal() string {
	if f.Expected == f.Version {
		return "there is no version after the greatest one: continue as a new execution"
	}
	return fmt.Sprintf("it was decided on version %d, but the last is %d: load the execution again and decide anew", f.Expected, f.Version)
}

func (f *Facts) ownershipHolds() bool { return f.Actor != "" && f.Actor == f.Owner }

func (f *Facts) ownershipRefusal() string {
	switch {
	case f.Actor == "":
		return "the facts do not say who acts: set Actor"
	case f.Owner == "":
		return "nobody holds the attempt: claim it first"
	}
	return fmt.Sprintf("the attempt is held by %q, not by %q: only its holder may end it", f.Owner, f.Actor)
}

func (f *Facts) leaseHolds() bool { return f.Fence != 0 && f.Fence == f.HeldFence }

func (f *Facts) leaseRefusal() string {
	if f.Fence == 0 {
		return "the facts do not say which fence the attempt has: set Fence"
	}
	return fmt.Sprintf("the lease with fence %d is not valid, the attempt is at fence %d: drop what was done under it", f.HeldFence, f.Fence)
}

func (f *Facts) dependenciesHold() bool { return f.Met >= f.Needs }

func (f *Facts) dependenciesRefusal() string {
	return fmt.Sprintf("%d of %d dependencies have ended: wait for the others", f.Met, f.Needs)
}

func (f *Facts) resourcesHold() bool { return f.Need <= f.Free }

func (f *Facts) resourcesRefusal() string {
	return fmt.Sprintf("it takes %d and %d is free: wait until more is", f.Need, f.Free)
}

// timeoutsHold counts the deadline itself as in time.
func (f *Facts) timeoutsHold() bool {
	return f.Deadline.IsZero() || !f.At.IsZero() && !f.At.After(f.Deadline)
}

func (f *Facts) timeoutsRefusal() string {
	if f.At.IsZero() {
		return "there is a deadline but no time to hold against it: set At"
	}
	return fmt.Sprintf("it took place at %s, after its deadline %s: record the timeout first",
		f.At.UTC().Format(time.RFC3339Nano), f.Deadline.UTC().Format(time.RFC3339Nano))
}

func (f *Facts) compensationHolds() bool { return f.CompensationConfigured && f.CompensationDue }

func (f *Facts) compensationRefusal() string {
	if !f.CompensationConfigured {
		return "Failed is final: no compensation is configured"
	}
	return "Failed is final: compensation is configured, but nothing is due"
}
