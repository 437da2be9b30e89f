package dynamodb

import (
	"cmp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// strange draws names that are likely to be mistaken for each other.
func strange(most int) *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringOfN(rapid.SampledFrom([]rune{'a', 'b', '/', '%', '2', '5', 'F', 0, 1, 2, 'é', '\U0010ffff'}), 1, 5, most),
		rapid.Custom(func(r *rapid.T) string { // long ones, which are hashed or cut
			x := strings.Repeat(rapid.SampledFrom([]string{"a", "%", "/", "é", "\x00"}).Draw(r, "of"), most)
			return strings.ToValidUTF8(x[:most-rapid.IntRange(0, 2).Draw(r, "shorter")], "")
		}),
	)
}

func TestKeysAreTheirOwn(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		name, tenant := strange(eventstore.MaxName), strange(eventstore.MaxTenant)
		a := eventstore.Stream{Tenant: tenant.Draw(r, "tenant"), ID: name.Draw(r, "id")}
		b := eventstore.Stream{Tenant: tenant.Draw(r, "tenant"), ID: name.Draw(r, "id")}
		require.Equal(r, a == b, historyPartition(a) == historyPartition(b))
		require.LessOrEqual(r, len(historyPartition(a)), maxPartition)
		back, err := parseStream(streamKey(a))
		require.NoError(r, err)
		require.Equal(r, a, back)

		t := eventstore.Topic{Tenant: a.Tenant, Type: tenant.Draw(r, "type"), Key: a.ID}
		u := eventstore.Topic{Tenant: b.Tenant, Type: tenant.Draw(r, "type"), Key: b.ID}
		require.Equal(r, t == u, topicPartition(t) == topicPartition(u))
		require.LessOrEqual(r, len(topicPartition(t)), maxPartition)

		require.Equal(r, a.ID == b.ID, named(noticeSort, a.ID) == named(noticeSort, b.ID))
		require.LessOrEqual(r, len(named(noticeSort, a.ID)), maxSort)
		s := eventstore.Subscription{Execution: a.ID, Waiter: name.Draw(r, "waiter")}
		v := eventstore.Subscription{Execution: b.ID, Waiter: name.Draw(r, "waiter")}
		require.Equal(r, s == v, subscriptionKey(s) == subscriptionKey(v))
		require.LessOrEqual(r, len(subscriptionKey(s)), maxSort)
	})
}

func TestKeysSort(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n, m := rapid.Uint64().Draw(r, "n"), rapid.Uint64().Draw(r, "m")
		require.Equal(r, cmp.Compare(n, m), strings.Compare(ordered(n), ordered(m)))
		back, err := parseOrdered(ordered(n))
		require.NoError(r, err)
		require.Equal(r, n, back)
		x, y := rapid.Int64().Draw(r, "x"), rapid.Int64().Draw(r, "y")
		require.Equal(r, cmp.Compare(y, x), strings.Compare(backward(x), backward(y)))

		name := rapid.StringOfN(rapid.SampledFrom([]rune{'a', 'b', 0, 1, 2, 'é'}), 1, 5, 20)
		s := eventstore.Subscription{Execution: name.Draw(r, "execution"), Waiter: name.Draw(r, "waiter")}
		v := eventstore.Subscription{Execution: name.Draw(r, "execution"), Waiter: name.Draw(r, "waiter")}
		require.Equal(r, cmp.Or(strings.Compare(s.Execution, v.Execution), strings.Compare(s.Waiter, v.Waiter)), strings.Compare(subscriptionKey(s), subscriptionKey(v)))
	})
}

func TestRowsArePacked(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		row := eventstore.Row{
			Workflow: rapid.String().Draw(r, "workflow"), Definition: rapid.Uint64().Draw(r, "definition"), Parent: rapid.String().Draw(r, "parent"),
			Started: rapid.Int64().Draw(r, "started"), Updated: rapid.Int64().Draw(r, "updated"), Status: rapid.String().Draw(r, "status"),
			Outcome: rapid.String().Draw(r, "outcome"), Open: rapid.Bool().Draw(r, "open"), Wake: rapid.Int64().Draw(r, "wake"), Due: rapid.Int64().Draw(r, "due"),
			Purge: rapid.Int64().Draw(r, "purge"), Repairs: rapid.Uint32().Draw(r, "repairs"),
		}
		for range rapid.IntRange(0, 3).Draw(r, "labels") {
			row.Labels = append(row.Labels, eventstore.Label{Key: rapid.String().Draw(r, "key"), Value: rapid.String().Draw(r, "value")})
		}
		packed := packRow(&row)
		var back eventstore.Row
		require.NoError(r, unpackRow(packed, &back))
		require.Equal(r, row, back)
		cut := packed[:rapid.IntRange(0, len(packed)-1).Draw(r, "cut")]
		require.Error(r, unpackRow(cut, &back))
		require.Error(r, unpackRow(append(packed, 0), &back))
	})
}

// FuzzUnpack reads bytes of anybody: there may be an error, never a panic.
func FuzzUnpack(f *testing.F) {
	f.Add(packRow(&eventstore.Row{Workflow: "order", Labels: []eventstore.Label{{Key: "a", Value: "b"}}, Due: 5}))
	f.Add(packHead(eventstore.Commit{First: 7, Last: 9, Checkpoint: 3}))
	f.Fuzz(func(t *testing.T, b []byte) {
		var row eventstore.Row
		if unpackRow(b, &row) == nil {
			var again eventstore.Row
			require.NoError(t, unpackRow(packRow(&row), &again))
			require.Equal(t, row, again)
		}
		i := key("x/acme/order-1", commitKey(7))
		i[attrHead] = binaryValue(b)
		if c, err := readCommit(i); err == nil {
			back, err := readCommit(commitItem(eventstore.Stream{Tenant: "acme", ID: "order-1"}, c, nil))
			require.NoError(t, err)
			require.Equal(t, c, back)
		}
	})
}
