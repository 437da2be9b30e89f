package folder_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/folder"
)

// A value goes into the folder as a stream and comes out as one, checked.
func ExampleOpen() {
	root, err := os.MkdirTemp("", "wovyr-payloads-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)
	ctx := context.Background()
	payloads, err := folder.Open(root, folder.Options{})
	fmt.Println(err)
	ref, err := payloads.Put(ctx, eventstore.Stream{Tenant: "acme", ID: "order-17"}, strings.NewReader("a large result"))
	fmt.Println(ref.Size, err)
	r, err := payloads.Open(ctx, "acme", ref)
	fmt.Println(err)
	defer r.Close()
	content, err := io.ReadAll(r)
	fmt.Println(string(content), err)
	// Output:
	// <nil>
	// 14 <nil>
	// <nil>
	// a large result <nil>
}
