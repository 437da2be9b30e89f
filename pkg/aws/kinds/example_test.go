package kinds_test

import (
	"fmt"

	"github.com/wovyr/wovyr/pkg/aws/kinds"
)

func ExampleRegistry() {
	registry, err := kinds.Registry()
	if err != nil {
		panic(err)
	}
	for _, k := range registry.Kinds() {
		fmt.Println(k.Name)
	}
	// Output:
	// function
	// grpc
	// http
	// script
}
