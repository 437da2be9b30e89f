package cli_test

import (
	"context"
	"os"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/cli"
)

// A whole main function: a wovyr whose workflows can call greet.
func ExampleMain() {
	type person struct{ Name string }
	greet := func(_ context.Context, in person) (string, error) { return "Hello " + in.Name, nil }
	os.Exit(cli.Main(activity.Func("greet", greet)))
}
