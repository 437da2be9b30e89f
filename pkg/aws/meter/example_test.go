package meter_test

import (
	"context"
	"fmt"

	"github.com/wovyr/wovyr/pkg/aws/meter"
)

func Example() {
	var m meter.Meter // m.Install(&config) makes clients count; this is what a receive of a queue costs, which passes no client
	ctx := meter.With(context.Background(), meter.Label{Execution: "order-1", Step: "charge"})
	m.Add(ctx, meter.Write, 2)
	m.Add(ctx, meter.Queue, 3)
	dollars, err := meter.DefaultPrices().Cost(m.Usage(meter.Label{Execution: "order-1", Step: "charge"}))
	fmt.Printf("$%.2f per million, %v\n", dollars*1e6, err)
	// Output: $2.45 per million, <nil>
}
