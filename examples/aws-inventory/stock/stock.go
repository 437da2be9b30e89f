// Package stock is the activities of the shop. Two programs have them: the Lambda function of the worker class (inventory), and a wovyr of our own for the
// laptop (local).
package stock

import (
	"context"

	"github.com/wovyr/wovyr/pkg/activity"
)

// Functions are what workflows call, by name.
func Functions() []activity.Function {
	return []activity.Function{
		activity.Func("inventory.reserve", reserve),
		activity.Func("inventory.release", release),
		activity.Custom(activity.Kind{Name: "inventory.fingerprint", Activity: fingerprint{}}),
	}
}

// Order is what a step gives to inventory.reserve by `with`.
type Order struct {
	SKU   string `json:"sku"`
	Count int    `json:"count"`
}

// Reservation is what the step's output is then.
type Reservation struct {
	ID    string `json:"id"`
	SKU   string `json:"sku"`
	Count int    `json:"count"`
}

// inStock is what there is, for want of a warehouse.
const inStock = 10

// reserve takes goods out of the stock. It may run more than once for the same step, so the reservation is named by the idempotency key: a warehouse
// that is asked twice finds it there.
func reserve(ctx context.Context, o Order) (Reservation, error) {
	if o.Count > inStock {
		return Reservation{}, activity.NewError("stock.short", "%d of %s are wanted, %d are there", o.Count, o.SKU, inStock)
	}
	return Reservation{ID: activity.Info(ctx).IdempotencyKey, SKU: o.SKU, Count: o.Count}, nil
}

// release puts reserved goods back.
func release(_ context.Context, r Reservation) (string, error) {
	return "released " + r.ID, nil
}
