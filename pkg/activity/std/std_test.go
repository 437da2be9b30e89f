package std_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/std"
)

func ExampleFunctions() {
	fs := activity.NewFunctions()
	if err := fs.Add(std.Functions()...); err != nil {
		fmt.Println(err)
	}
	res, err := fs.Run(context.Background(), &activity.Task{
		Target: activity.NewDocument(json.RawMessage(`"std.echo"`)),
		With:   activity.NewDocument(json.RawMessage(`{"hello":"world"}`)),
	})
	fmt.Println(string(res.Output), err)
	// Output: {"hello":"world"} <nil>
}
