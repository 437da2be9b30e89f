// Command publisher is the Lambda function that derives the index, lifecycle events and metrics from the history, and takes in events from outside.
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
	lambda.Start(p.Publisher)
}
