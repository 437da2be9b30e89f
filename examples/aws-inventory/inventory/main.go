// Command inventory is the function of the worker class "inventory": Go activities that run in a Lambda function of their own.
package main

import (
	"context"
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/aws"

	"example.com/shop/stock"
)

func main() {
	kinds := activity.NewRegistry()
	if err := kinds.Functions.Add(stock.Functions()...); err != nil {
		log.Fatal(err)
	}
	p, err := aws.Setup(context.Background(), aws.Options{Activities: kinds})
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(p.Activity)
}
