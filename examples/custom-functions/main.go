// A wovyr of your own: all its commands, with Go functions that workflows call by name.
package main

import (
	"context"
	"os"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/cli"
)

// Item is what the workflow passes in `with`.
type Item struct {
	SKU      string
	Quantity int
}

// Reservation is the step's output.
type Reservation struct {
	ID  string `json:"id"`
	Key string `json:"key"` // the same for each attempt: give it to the system that you call
}

func reserve(ctx context.Context, in Item) (Reservation, error) {
	if in.Quantity > 100 {
		return Reservation{}, activity.NewError("stock.short", "there are only 100 of %s", in.SKU)
	}
	return Reservation{ID: "r-" + in.SKU, Key: activity.Info(ctx).IdempotencyKey}, nil
}

func main() {
	os.Exit(cli.Main(activity.Func("inventory.reserve", reserve)))
}
