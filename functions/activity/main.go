// Command activity is the Lambda function that runs the activities which need no code of the user's.
package main

import (
	"context"
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/wovyr/wovyr/pkg/aws"
	"github.com/wovyr/wovyr/pkg/aws/kinds"
)

func main() {
	registry, err := kinds.Registry()
	if err != nil {
		log.Fatal(err)
	}
	p, err := aws.Setup(context.Background(), aws.Options{Activities: registry})
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(p.Activity)
}
