package eventstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/memory"
)

// Two writers decide on the same head. One wins, whatever the lengths of their batches.
func Example() {
	ctx := context.Background()
	store := memory.New()
	order := eventstore.Stream{Tenant: "acme", ID: "order-17"}

	created := eventstore.Commit{First: 1, Last: 3, Nonce: eventstore.Nonce{1}, Data: []byte("created, validated, scheduled")}
	fmt.Println(store.Append(ctx, order, created, nil))

	mine := eventstore.Commit{First: 4, Last: 4, Nonce: eventstore.Nonce{2}, Prev: created.Hash(order), Data: []byte("started")}
	theirs := eventstore.Commit{First: 4, Last: 6, Nonce: eventstore.Nonce{3}, Prev: created.Hash(order), Data: []byte("cancelled, and what follows")}
	fmt.Println(store.Append(ctx, order, mine, nil))
	err := store.Append(ctx, order, theirs, nil)
	var conflict *eventstore.ConflictError
	fmt.Println(errors.As(err, &conflict), conflict)

	tail, _ := store.Tail(ctx, order)
	for _, c := range tail {
		fmt.Printf("%d-%d %s\n", c.First, c.Last, c.Data)
	}
	// Output:
	// <nil>
	// <nil>
	// true history acme/order-17: expected version 3, found 4: load it again and decide again
	// 1-3 created, validated, scheduled
	// 4-4 started
}

// A worker claims an attempt before it runs it; whoever cancels the step revokes the claim first.
func ExampleRevoke() {
	ctx := context.Background()
	store := memory.New()
	attempt := eventstore.ClaimKey{Stream: eventstore.Stream{Tenant: "acme", ID: "order-17"}, Attempt: "charge/1", Fence: 1}

	stands, _ := eventstore.Revoke(ctx, store, attempt, "worker-2", 100, 5000)
	fmt.Println("never starts:", stands.Revoked())

	mine, _ := store.Claim(ctx, attempt, eventstore.Claim{Owner: "receive-8", Until: 130})
	fmt.Println("claimed by", mine.Owner)
	// Output:
	// never starts: true
	// claimed by revoked
}

// lossy loses the answer of its first append.
type lossy struct {
	eventstore.Committer
	lost bool
}

func (l *lossy) Append(ctx context.Context, s eventstore.Stream, c eventstore.Commit, row *eventstore.Row) error {
	err := l.Committer.Append(ctx, s, c, row)
	if !l.lost {
		l.lost = true
		return &eventstore.UnknownOutcomeError{Op: "append", Tries: 1, Err: errors.New("connection lost")}
	}
	return err
}

// The answer of a write is lost. AppendSurely finds out what happened before anything is decided anew.
func ExampleAppendSurely() {
	ctx := context.Background()
	store := memory.New()
	order := eventstore.Stream{Tenant: "acme", ID: "order-17"}
	commit := eventstore.Commit{First: 1, Last: 1, Nonce: eventstore.Nonce{1}}
	fmt.Println(eventstore.AppendSurely(ctx, &lossy{Committer: store}, order, commit, nil, eventstore.Patience{Tries: 3}))
	head, _ := store.Head(ctx, order)
	fmt.Println(head)
	// Output:
	// <nil>
	// 1
}

// Somebody changes a byte of a stored commit.
func ExampleVerify() {
	ctx := context.Background()
	store := memory.New()
	order := eventstore.Stream{Tenant: "acme", ID: "order-17"}
	first := eventstore.Commit{First: 1, Last: 1, Nonce: eventstore.Nonce{1}, Data: []byte("total: 20")}
	second := eventstore.Commit{First: 2, Last: 2, Nonce: eventstore.Nonce{2}, Prev: first.Hash(order)}
	_ = store.Append(ctx, order, first, nil)
	_ = store.Append(ctx, order, second, nil)
	proof, err := eventstore.Verify(ctx, store, order)
	fmt.Println(proof.Commits, err)

	store.Rewrite(order, func(commits []eventstore.Commit) []eventstore.Commit {
		commits[0].Data = []byte("total: 99")
		return commits
	})
	_, err = eventstore.Verify(ctx, store, order)
	fmt.Println(err)
	// Output:
	// 2 <nil>
	// history acme/order-17 is corrupt at 2: the commit before it is not the one that it followed when it was written: it was changed after it was written; put a backup of the store in its place (other executions are not concerned)
}

// A large value is stored once and passes by reference. It goes with the last execution that holds it.
func ExamplePayloadStore() {
	ctx := context.Background()
	var payloads eventstore.PayloadStore = memory.NewPayloads(0)
	parent, child := eventstore.Stream{Tenant: "acme", ID: "batch"}, eventstore.Stream{Tenant: "acme", ID: "batch/page-1"}
	ref, _ := payloads.Put(ctx, parent, strings.NewReader("a large result"))
	_ = payloads.Own(ctx, child, ref)
	_ = payloads.Release(ctx, parent)
	_, err := payloads.Open(ctx, "acme", ref)
	fmt.Println("while the child holds it:", err)
	_ = payloads.Release(ctx, child)
	_, err = payloads.Open(ctx, "acme", ref)
	fmt.Println("afterwards:", errors.Is(err, eventstore.ErrNotFound))
	// Output:
	// while the child holds it: <nil>
	// afterwards: true
}
