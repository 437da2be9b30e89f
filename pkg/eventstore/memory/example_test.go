package memory_test

import (
	"context"
	"fmt"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/memory"
)

// The index row of an execution is there as soon as its commit is.
func ExampleNew() {
	ctx := context.Background()
	store := memory.New()
	order := eventstore.Stream{Tenant: "acme", ID: "order-17"}
	row := eventstore.Row{Stream: order, Version: 1, Workflow: "order", Status: "running", Open: true, Started: 100, Due: 160}
	_ = store.Append(ctx, order, eventstore.Commit{First: 1, Last: 1, Nonce: eventstore.Nonce{1}}, &row)

	open, _, _ := store.List(ctx, "acme", eventstore.Filter{OpenOnly: true}, eventstore.Page{})
	overdue, _, _ := store.Overdue(ctx, order.Shard(), 200, eventstore.Page{})
	fmt.Println(len(open), overdue[0].Stream)
	// Output: 1 acme/order-17
}
