// Command timer is the Lambda function that turns timers that are due into messages, and sweeps.
package main

import (
	"context"
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/wovyr/wovyr/pkg/aws"
)

func main() {
	p, err := aws.Setup(context.Background(), aws.Options{})
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(p.Timer)
}
