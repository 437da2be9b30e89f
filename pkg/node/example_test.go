package node_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/node"
	"github.com/wovyr/wovyr/pkg/project"
)

// A program of a user's own: Go functions beside those of the project, in one process with store, workers and API.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "node")
	check(err)
	defer os.RemoveAll(dir)
	settings, err := project.Load(dir)
	check(err)

	hello := activity.Func("hello", func(_ context.Context, name string) (string, error) { return "Hello, " + name + "!", nil })
	n, err := node.Open(node.Options{Project: settings, Data: filepath.Join(dir, "data"), Functions: []activity.Function{hello}})
	check(err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- n.Run(ctx, time.Second) }()

	c := client.Client{Server: n.URL}
	_, err = c.Deploy(ctx, "greet.yaml", []byte("dsl: wovyr/v1\nname: greet\nsteps: { hello: { function: hello, with: '${ input }' } }\n"))
	check(err)
	execution, err := c.Start(ctx, client.StartRequest{Workflow: "greet", Input: json.RawMessage(`"Ann"`)})
	check(err)
	for !execution.Ended() {
		execution, err = c.Wait(ctx, execution.ID)
		check(err)
	}
	fmt.Println(execution.Status, string(execution.Output))

	stop()
	check(<-done)
	// Output: completed {"hello":"Hello, Ann!"}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
