package builtin_test

import (
	"fmt"

	"github.com/wovyr/wovyr/pkg/activity/builtin"
	"github.com/wovyr/wovyr/pkg/activity/egress"
)

func ExampleRegistry() {
	guard, err := egress.New() // public addresses only
	if err != nil {
		panic(err)
	}
	kinds, err := builtin.Registry(builtin.Options{Guard: guard})
	if err != nil {
		panic(err)
	}
	for _, k := range kinds.Kinds() {
		fmt.Println(k.Name)
	}
	// Output:
	// function
	// grpc
	// http
	// script
}
