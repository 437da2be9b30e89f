package dynamodb_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb"
)

var add = flag.Bool("add", false, "write the items of today's program as a further form, beside those of older ones")

// attributeJSON is an attribute as DynamoDB's own JSON has it.
type attributeJSON struct {
	S    *string `json:"S,omitempty"`
	N    *string `json:"N,omitempty"`
	B    []byte  `json:"B,omitempty"`
	BOOL *bool   `json:"BOOL,omitempty"`
}

type itemJSON map[string]attributeJSON

func (i itemJSON) item() map[string]types.AttributeValue {
	out := map[string]types.AttributeValue{}
	for name, a := range i { // order-free: a map again
		switch {
		case a.S != nil:
			out[name] = &types.AttributeValueMemberS{Value: *a.S}
		case a.N != nil:
			out[name] = &types.AttributeValueMemberN{Value: *a.N}
		case a.BOOL != nil:
			out[name] = &types.AttributeValueMemberBOOL{Value: *a.BOOL}
		default:
			out[name] = &types.AttributeValueMemberB{Value: a.B}
		}
	}
	return out
}

func jsonOf(t testing.TB, i map[string]types.AttributeValue) itemJSON {
	out := itemJSON{}
	for name, a := range i { // order-free: a map again
		switch a := a.(type) {
		case *types.AttributeValueMemberS:
			out[name] = attributeJSON{S: &a.Value}
		case *types.AttributeValueMemberN:
			out[name] = attributeJSON{N: &a.Value}
		case *types.AttributeValueMemberB:
			out[name] = attributeJSON{B: a.Value}
		case *types.AttributeValueMemberBOOL:
			out[name] = attributeJSON{BOOL: &a.Value}
		default:
			require.Failf(t, "no attribute of ours", "%s: %T", name, a)
		}
	}
	return out
}

// everything writes one of each kind of item, in each of its shapes.
func everything(t *testing.T, w *world) {
	ctx, at := t.Context(), time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC).UnixNano()
	s := w.open(dynamodb.Options{Tombstones: time.Hour, Now: func() int64 { return at }})
	long := eventstore.Stream{Tenant: "acme/eu 100%", ID: strings.Repeat("x", eventstore.MaxName)}
	for _, id := range []eventstore.Stream{stream, long} {
		prev := eventstore.Hash{}
		for n := range uint64(3) {
			c := eventstore.Commit{First: 4*n + 1, Last: 4*n + 4, Nonce: eventstore.Nonce{byte(n + 1)}, Prev: prev, Data: fmt.Appendf(nil, "events %d", n), Publish: n == 0}
			if n > 0 {
				c.Checkpoint = 5
			}
			row := eventstore.Row{Stream: id, Workflow: "order", Definition: 7, Parent: "p", Started: at, Version: c.Last, Status: "Running", Open: true, Updated: at + int64(n), Wake: at + 50, Due: at + 99,
				Labels: []eventstore.Label{{Key: "k", Value: "v"}, {Key: "l", Value: ""}}}
			if n == 2 {
				row.Status, row.Outcome, row.Open, row.Wake, row.Due, row.Purge = "Completed", "completed", false, 0, 0, at+1000
			}
			require.NoError(t, s.Append(ctx, id, c, &row))
			prev = c.Hash(id)
			w.settle(s)
			row.Revision, row.Repairs = 1, 2
			if n == 1 {
				_, err := s.PutRow(ctx, row)
				require.NoError(t, err)
			}
		}
		require.NoError(t, s.Acknowledge(ctx, id, "parent"))
	}
	gone := eventstore.Stream{Tenant: "acme", ID: "gone"}
	require.NoError(t, s.Append(ctx, gone, commit(1, 1), nil))
	require.NoError(t, s.Purge(ctx, gone))
	claims := map[eventstore.ClaimKey]eventstore.Claim{
		{Stream: stream, Attempt: "charge/1", Fence: 1}: {Owner: "receive", Worker: "aws/1", Started: at, Until: at + 30, Limit: at + 60, Expires: at + 1e9},
		{Stream: stream, Attempt: "charge/1", Fence: 2}: {Owner: eventstore.Revoked, Expires: at + 1e9},
	}
	for _, k := range slices.SortedFunc(maps.Keys(claims), func(a, b eventstore.ClaimKey) int { return int(a.Fence) - int(b.Fence) }) {
		_, err := s.Claim(ctx, k, claims[k])
		require.NoError(t, err)
	}
	topic := eventstore.Topic{Tenant: "acme", Type: "Paid", Key: "7"}
	for _, e := range []eventstore.Event{{ID: "e1", Source: "shop", Data: []byte(`{"n":1}`), At: at, Expires: at + 1e12}, {ID: "e2", At: at + 1, Expires: at + 1e12, Sliding: true}} {
		_, err := s.PutEvent(ctx, topic, e)
		require.NoError(t, err)
	}
	require.NoError(t, s.Subscribe(ctx, eventstore.Subscription{Topic: topic, Execution: "order-1", Waiter: "wait", Expires: at + 1e12}))
	require.NoError(t, s.PutDeadLetter(ctx, eventstore.DeadLetter{Tenant: "acme", ID: "l1", Execution: "order-1", Queue: "inbox", Code: "failing.Tick", Cause: "because", At: at, Expires: at + 1e12, Body: []byte("{}")}))
	require.NoError(t, s.PutDefinition(ctx, eventstore.Definition{Tenant: "acme", Workflow: "order", Version: 1, Hash: eventstore.Hash{1}, Created: at, Bytes: []byte("small")}))
	require.NoError(t, s.PutDefinition(ctx, eventstore.Definition{Tenant: "acme", Workflow: "order", Version: 2, Hash: eventstore.Hash{2}, Created: at, Bytes: slices.Repeat([]byte("large "), 12_000)}))
	require.NoError(t, s.PutAlias(ctx, eventstore.Alias{Tenant: "acme", Workflow: "order", Name: "live", Revision: 1, Updated: at, Targets: []eventstore.Target{{Version: 1, Weight: 90}, {Version: 2, Weight: 10}}}))
}

// told is what the store reads of that, as text.
func told(t *testing.T, s *dynamodb.Store) string {
	var out strings.Builder
	ctx := t.Context()
	say := func(what string, v any, err error) {
		text, wrong := json.Marshal(v)
		require.NoError(t, wrong)
		fmt.Fprintf(&out, "%s: %s found %v\n", what, text, err == nil)
	}
	at := time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC).UnixNano()
	for _, id := range []eventstore.Stream{stream, {Tenant: "acme/eu 100%", ID: strings.Repeat("x", eventstore.MaxName)}, {Tenant: "acme", ID: "gone"}} {
		name := id.ID[:min(len(id.ID), 10)]
		page, err := s.Page(ctx, id, 0, 0)
		say("history "+name, page, err)
		tail, err := s.Tail(ctx, id)
		say("tail "+name, len(tail), err)
		row, err := s.Row(ctx, id)
		say("row "+name, row, err)
		notice, err := s.Acknowledged(ctx, id, "parent")
		say("notice "+name, notice, err)
		rows, _, err := s.List(ctx, id.Tenant, eventstore.Filter{Outcome: "completed"}, eventstore.Page{})
		say("list "+name, len(rows), err)
		due, _, err := s.Purgeable(ctx, id.Shard(), at+2000, eventstore.Page{})
		say("purgeable "+name, len(due), err)
	}
	for fence := range uint64(3) {
		claim, err := s.ReadClaim(ctx, eventstore.ClaimKey{Stream: stream, Attempt: "charge/1", Fence: fence})
		say(fmt.Sprint("claim ", fence), claim, err)
	}
	topic := eventstore.Topic{Tenant: "acme", Type: "Paid", Key: "7"}
	events, err := s.ReadEvents(ctx, topic, 0, at, 10)
	say("events", events, err)
	waiting, _, err := s.Subscribers(ctx, topic, eventstore.Page{})
	say("subscribers", waiting, err)
	letters, _, err := s.DeadLetters(ctx, "acme", eventstore.Page{})
	say("dead letters", letters, err)
	letter, err := s.DeadLetter(ctx, "acme", "l1")
	say("dead letter", letter.ID, err)
	for v := range uint64(2) {
		d, err := s.Definition(ctx, "acme", "order", v+1)
		d.Bytes = d.Bytes[:min(len(d.Bytes), 20)]
		say("definition", d, err)
	}
	workflows, _, err := s.Workflows(ctx, "acme", eventstore.Page{})
	say("workflows", len(workflows), err)
	alias, err := s.Alias(ctx, "acme", "order", "live")
	say("alias", alias, err)
	return out.String()
}

// stored are the items of all tables.
func (w *world) stored() map[string][]itemJSON {
	out := map[string][]itemJSON{}
	for kind, table := range map[string]string{"history": w.tables.History, "catalogue": w.tables.Catalogue, "index": w.tables.Index} { // order-free: a map again
		for _, i := range w.items(table) {
			out[kind] = append(out[kind], jsonOf(w.t, i))
		}
	}
	return out
}

// TestItemsOfOlderPrograms reads the items that each program so far has written: an update never breaks what is stored. When today's program
// writes another form, this test says so: add it with -add, and leave the older ones.
func TestItemsOfOlderPrograms(t *testing.T) {
	forms, err := filepath.Glob("testdata/items-*.json")
	require.NoError(t, err)
	w := newWorld(t)
	everything(t, w)
	now, err := json.MarshalIndent(w.stored(), "", " ")
	require.NoError(t, err)
	now = append(now, '\n')
	if *add {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		forms = append(forms, fmt.Sprintf("testdata/items-%d.json", len(forms)+1))
		require.NoError(t, os.WriteFile(forms[len(forms)-1], now, 0o644))
		require.NoError(t, os.WriteFile(strings.Replace(forms[len(forms)-1], ".json", ".txt", 1), []byte(told(t, w.open(dynamodb.Options{}))), 0o644))
	}
	require.NotEmpty(t, forms)
	known := false
	for _, form := range forms {
		text, err := os.ReadFile(form)
		require.NoError(t, err)
		known = known || string(text) == string(now)
		want, err := os.ReadFile(strings.Replace(form, ".json", ".txt", 1))
		require.NoError(t, err)
		var tables map[string][]itemJSON
		require.NoError(t, json.Unmarshal(text, &tables))
		old := newWorld(t)
		for kind, table := range map[string]string{"history": old.tables.History, "catalogue": old.tables.Catalogue, "index": old.tables.Index} { // order-free: tables apart
			for _, i := range tables[kind] {
				_, err := old.client.PutItem(t.Context(), &sdk.PutItemInput{TableName: &table, Item: i.item()})
				require.NoError(t, err)
			}
		}
		require.Equal(t, string(want), told(t, old.open(dynamodb.Options{})), form)
		for _, change := range old.changes() {
			require.NotEmpty(t, change.Stream.ID, "the publisher reads them too")
		}
		require.NoError(t, old.open(dynamodb.Options{}).Append(t.Context(), stream, eventstore.Commit{First: 13, Last: 13, Checkpoint: 5, Nonce: eventstore.Nonce{9}, Data: []byte{1}}, nil), "and goes on with them")
	}
	require.True(t, known, "the form of items has changed: go test ./pkg/eventstore/dynamodb -run OlderPrograms -add, and see that functions of the program before can live with it during a deployment")
}
