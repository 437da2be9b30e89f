// Command orchestrator is the Lambda function that decides on what the inbox of executions brings.
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
	lambda.Start(p.Orchestrator)
}
