package aws_test

import (
	"context"
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/aws"
)

// The function of a worker class of your own: the stack routes functions to it (Props.Classes), and it can write no history. It has no
// output: it runs in Lambda.
func ExampleSetup() {
	kinds := activity.NewRegistry()
	reserve := func(ctx context.Context, order struct{ SKU string }) (string, error) {
		return "reserved " + order.SKU, nil
	}
	if err := kinds.Functions.Add(activity.Func("inventory.reserve", reserve)); err != nil {
		log.Fatal(err)
	}
	p, err := aws.Setup(context.Background(), aws.Options{Activities: kinds})
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(p.Activity)
}
