package fsm_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/fsm"
)

func TestGuardsHold(t *testing.T) {
	for g := range fsm.Guards() {
		f := facts()
		require.True(t, g.Holds(&f), g)
	}
}

func TestGuardsRefuse(t *testing.T) {
	covered := map[fsm.Guard]bool{}
	for _, b := range breaks {
		t.Run(b.guard.String()+"/"+b.name, func(t *testing.T) {
			covered[b.guard] = true
			f := facts()
			b.broken(&f)
			for g := range fsm.Guards() {
				require.Equal(t, g != b.guard, g.Holds(&f), "%s: a guard reads its own facts only", g)
			}
		})
	}
	for g := range fsm.Guards() {
		require.True(t, covered[g], "%s has no case", g)
	}
}

// Amounts pass when they are zero and at their limit; a deadline is still in time.
func TestGuardLimits(t *testing.T) {
	for _, c := range []struct {
		guard fsm.Guard
		facts fsm.Facts
		holds bool
	}{
		{fsm.GuardVersion(), fsm.Facts{}, true}, // creation
		{fsm.GuardVersion(), fsm.Facts{Version: 1}, false},
		{fsm.GuardVersion(), fsm.Facts{Expected: 1}, false},
		{fsm.GuardDependencies(), fsm.Facts{}, true},
		{fsm.GuardDependencies(), fsm.Facts{Needs: 1, Met: 2}, true},
		{fsm.GuardResources(), fsm.Facts{}, true},
		{fsm.GuardResources(), fsm.Facts{Need: 2, Free: 2}, true},
		{fsm.GuardResources(), fsm.Facts{Need: 2, Free: 1}, false},
		{fsm.GuardTimeouts(), fsm.Facts{}, true},
		{fsm.GuardTimeouts(), fsm.Facts{At: noon}, true},
		{fsm.GuardTimeouts(), fsm.Facts{At: noon, Deadline: noon}, true},
		{fsm.GuardTimeouts(), fsm.Facts{At: noon, Deadline: noon.In(time.FixedZone("", 3600))}, true},
		{fsm.GuardTimeouts(), fsm.Facts{At: noon, Deadline: noon.Add(-1)}, false},
		{fsm.GuardTenant(), fsm.Facts{}, false},
		{fsm.GuardPermissions(), fsm.Facts{}, false},
		{fsm.GuardPermissions(), fsm.Facts{Granted: fsm.PermissionStart}, false},
		{fsm.GuardOwnership(), fsm.Facts{}, false},
		{fsm.GuardLease(), fsm.Facts{}, false},
		{fsm.GuardCompensation(), fsm.Facts{}, false},
		{fsm.Guard{}, facts(), false},
	} {
		require.Equal(t, c.holds, c.guard.Holds(&c.facts), "%s: %+v", c.guard, c.facts)
	}
}

// Each edge refuses by each of its guards, naming it, and by no other.
func TestEdgesRefuseByTheirGuards(t *testing.T) {
	edgesRefuse(t, fsm.WorkflowV1())
	edgesRefuse(t, fsm.ActivityV1())
}

func edgesRefuse[S fsm.State, E fsm.Event](t *testing.T, m fsm.Machine[S, E]) {
	for row := range m.Transitions() {
		for _, b := range breaks {
			f := facts()
			b.broken(&f)
			before := f
			to, err := m.Next(row.From, row.On, &f)
			require.Equal(t, before, f)
			if !row.Guards.Has(b.guard) {
				require.NoError(t, err, "%v on %v does not ask %s", row.From, row.On, b.guard)
				require.Equal(t, row.To, to)
				continue
			}
			var none S
			require.Equal(t, none, to)
			require.ErrorIs(t, err, fsm.ErrGuard)
			var refused *fsm.TransitionError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, b.guard, refused.Guard)
			require.Equal(t, b.reason, refused.Reason)
			requireNames(t, refused, m.Name(), row.From, row.On, row.To)
			require.ErrorContains(t, err, "by guard "+b.guard.String())
		}
	}
}

// Of several guards that do not hold the first is named, tenant before all.
func TestGuardOrder(t *testing.T) {
	m := fsm.ActivityV1()
	var got []string
	f := fsm.Facts{Version: 1, Need: 1}
	for range 10 { // one more than there are guards
		_, err := m.Next(fsm.ActivityStateReady(), fsm.ActivityScheduled(), &f)
		if err == nil {
			break
		}
		var refused *fsm.TransitionError
		require.ErrorAs(t, err, &refused)
		got = append(got, refused.Guard.String())
		switch refused.Guard {
		case fsm.GuardTenant():
			f.Tenant, f.ActorTenant = "acme", "acme"
		case fsm.GuardPermissions():
			f.Required, f.Granted = fsm.PermissionRun, fsm.PermissionRun
		case fsm.GuardVersion():
			f.Expected = 1
		case fsm.GuardResources():
			f.Free = 1
		}
	}
	require.Equal(t, []string{"tenant", "permissions", "version", "resources"}, got)
}

func TestGuardNames(t *testing.T) {
	var got []string
	for g := range fsm.Guards() {
		got = append(got, g.String())
		text, err := json.Marshal(g)
		require.NoError(t, err)
		var back fsm.Guard
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, g, back)
	}
	require.Equal(t, wireNames["guard"], got)
	require.Equal(t, "None", fsm.Guard{}.String())
	var g fsm.Guard
	requireUnknown(t, g.UnmarshalText([]byte("owner")), "guard", `"owner"`)
}

func TestGuardSet(t *testing.T) {
	s := fsm.NewGuardSet(fsm.GuardTimeouts(), fsm.GuardTenant(), fsm.GuardTimeouts(), fsm.Guard{})
	require.Equal(t, []fsm.Guard{fsm.GuardTenant(), fsm.GuardTimeouts()}, slices.Collect(s.All()))
	require.Equal(t, "tenant, timeouts", s.String())
	require.True(t, s.Has(fsm.GuardTenant()))
	require.False(t, s.Has(fsm.GuardLease()))
	require.False(t, s.Has(fsm.Guard{}))
	for range s.All() {
		break // stops early without harm
	}
}

func TestPermissionString(t *testing.T) {
	require.Equal(t, "none", fsm.Permission(0).String())
	require.Equal(t, "commit, start, signal, cancel, operate, run, secrets", fsm.Permission(0x7f).String())
	require.Equal(t, "cancel, 0x8000", (fsm.PermissionCancel | 0x8000).String())
}
