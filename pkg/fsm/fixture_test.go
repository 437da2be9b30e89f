package fsm_test

import (
	"time"

	"github.com/wovyr/wovyr/pkg/fsm"
)

var noon = time.Date(2026, 6, 26, 12, 0, 0, 0, time.UTC)

// facts satisfy every guard.
func facts() fsm.Facts {
	return fsm.Facts{
		Tenant: "acme", ActorTenant: "acme",
		Required: fsm.PermissionStart, Granted: fsm.PermissionStart | fsm.PermissionCancel,
		Version: 6, Expected: 6,
		Owner: "claim-1", Actor: "claim-1",
		Fence: 2, HeldFence: 2,
		Needs: 3, Met: 3,
		Need: 1, Free: 4,
		At: noon, Deadline: noon.Add(time.Minute),
		CompensationConfigured: true, CompensationDue: true,
	}
}

// origin is complete.
func origin() fsm.Origin {
	return fsm.Origin{
		WorkflowID: "order", ExecutionID: "order-17", WorkerID: "worker-3", CorrelationID: "basket-9",
		CausationID: "signal-4", At: noon, Reason: "paid",
	}
}

// breaks makes the facts fail exactly the guard that it is the list of, in every way that there is.
var breaks = []struct {
	guard  fsm.Guard
	name   string
	broken func(*fsm.Facts)
	reason string
}{
	{fsm.GuardTenant(), "foreign tenant", func(f *fsm.Facts) { f.ActorTenant = "other" },
		`tenant "other" may not act on an execution of another tenant`},
	{fsm.GuardTenant(), "no tenant", func(f *fsm.Facts) { f.Tenant, f.ActorTenant = "", "" },
		"the facts do not say whose execution this is: set Tenant"},
	{fsm.GuardPermissions(), "missing permission", func(f *fsm.Facts) { f.Required = fsm.PermissionStart | fsm.PermissionOperate },
		"it needs start, operate, of which is not granted: operate"},
	{fsm.GuardPermissions(), "no permission named", func(f *fsm.Facts) { f.Required = 0 },
		"the facts do not say which permission this needs: set Required"},
	{fsm.GuardVersion(), "stale", func(f *fsm.Facts) { f.Expected = f.Version - 1 },
		"it was decided on version 5, but the last is 6: load the execution again and decide anew"},
	{fsm.GuardVersion(), "from the future", func(f *fsm.Facts) { f.Expected = f.Version + 1 },
		"it was decided on version 7, but the last is 6: load the execution again and decide anew"},
	{fsm.GuardVersion(), "exhausted", func(f *fsm.Facts) { f.Version, f.Expected = 1<<64-1, 1<<64-1 },
		"there is no version after the greatest one: continue as a new execution"},
	{fsm.GuardOwnership(), "held by another", func(f *fsm.Facts) { f.Owner = "revoked" },
		`the attempt is held by "revoked", not by "claim-1": only its holder may end it`},
	{fsm.GuardOwnership(), "held by nobody", func(f *fsm.Facts) { f.Owner = "" },
		"nobody holds the attempt: claim it first"},
	{fsm.GuardOwnership(), "no actor", func(f *fsm.Facts) { f.Owner, f.Actor = "", "" },
		"the facts do not say who acts: set Actor"},
	{fsm.GuardLease(), "old fence", func(f *fsm.Facts) { f.HeldFence = 1 },
		"the lease with fence 1 is not valid, the attempt is at fence 2: drop what was done under it"},
	{fsm.GuardLease(), "no fence", func(f *fsm.Facts) { f.Fence, f.HeldFence = 0, 0 },
		"the facts do not say which fence the attempt has: set Fence"},
	{fsm.GuardDependencies(), "open dependency", func(f *fsm.Facts) { f.Met = 2 },
		"2 of 3 dependencies have ended: wait for the others"},
	{fsm.GuardResources(), "too little free", func(f *fsm.Facts) { f.Free = 0 },
		"it takes 1 and 0 is free: wait until more is"},
	{fsm.GuardTimeouts(), "late", func(f *fsm.Facts) { f.At = f.Deadline.Add(1) },
		"it took place at 2026-06-26T12:01:00.000000001Z, after its deadline 2026-06-26T12:01:00Z: record the timeout first"},
	{fsm.GuardTimeouts(), "no time", func(f *fsm.Facts) { f.At = time.Time{} },
		"there is a deadline but no time to hold against it: set At"},
	{fsm.GuardCompensation(), "not configured", func(f *fsm.Facts) { f.CompensationConfigured = false },
		"Failed is final: no compensation is configured"},
	{fsm.GuardCompensation(), "not due", func(f *fsm.Facts) { f.CompensationDue = false },
		"Failed is final: compensation is configured, but nothing is due"},
}
