package client_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/wovyr/wovyr/pkg/client"
)

// An order is started once, however often this is called, and its end is waited for.
func ExampleClient() {
	c := &client.Client{Server: "http://127.0.0.1:1"}
	ctx := context.Background()
	e, err := c.Start(ctx, client.StartRequest{Workflow: "order", Key: "order-7", Input: []byte(`{"id": 7}`)})
	for err == nil && !e.Ended() {
		e, err = c.Wait(ctx, e.ID)
	}
	var refused *client.Problem
	switch {
	case errors.Is(err, client.ErrUnreachable):
		fmt.Println("start the server first: wovyr dev order.yaml")
	case errors.As(err, &refused):
		fmt.Println(refused.Code, refused)
	default:
		fmt.Println(e.Outcome, string(e.Output), err)
	}
	// Output: start the server first: wovyr dev order.yaml
}
