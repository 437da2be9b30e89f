package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/sqlite"
)

// A process opens its folder, writes, and is stopped. The next one finds everything.
func ExampleOpen() {
	folder, err := os.MkdirTemp("", "wovyr-store-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	ctx := context.Background()
	order := eventstore.Stream{Tenant: "acme", ID: "order-17"}

	store, err := sqlite.Open(folder, sqlite.Options{})
	fmt.Println(err)
	fmt.Println(store.Append(ctx, order, eventstore.Commit{First: 1, Last: 2, Nonce: eventstore.Nonce{1}}, nil))

	_, err = sqlite.Open(folder, sqlite.Options{})
	var locked *sqlite.LockedError
	fmt.Println("a second owner is refused:", errors.As(err, &locked))

	fmt.Println(store.Close())
	store, err = sqlite.Open(folder, sqlite.Options{})
	fmt.Println(err)
	fmt.Println(store.Head(ctx, order))
	fmt.Println(store.Close())
	// Output:
	// <nil>
	// <nil>
	// a second owner is refused: true
	// <nil>
	// <nil>
	// 2 <nil>
	// <nil>
}
