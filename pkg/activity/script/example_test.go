package script_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/script"
)

func ExampleNew() {
	kinds := activity.NewRegistry()
	kinds.MustAdd(script.New(script.Options{}))

	k, _ := kinds.Find("script")
	res, err := k.Activity.Run(context.Background(), &activity.Task{
		Target: activity.NewDocument(json.RawMessage(`{"js":"return input.lines.map(l => l.price * l.count).reduce((a, b) => a + b)"}`)),
		With:   activity.NewDocument(json.RawMessage(`{"lines":[{"price":3,"count":2},{"price":10,"count":1}]}`)),
	})
	fmt.Println(string(res.Output), err)
	// Output: 16 <nil>
}
