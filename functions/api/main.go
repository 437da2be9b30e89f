// Command api is the Lambda function behind the HTTP API.
package main

import (
	"context"
	"log"
	"net/http"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/wovyr/wovyr/pkg/api"
	"github.com/wovyr/wovyr/pkg/aws"
	"github.com/wovyr/wovyr/pkg/aws/fit"
)

func main() {
	p, err := aws.Setup(context.Background(), aws.Options{})
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(p.HTTP(func(c aws.Caller) http.Handler {
		s := &api.Server{Worker: p.Worker, Ask: p.Ask, Tenant: c.Tenant, Principal: c.Principal, Tokens: p.Tokens, Misfits: fit.On(p.Deployment()), MaxAnswer: aws.MaxAnswer, Log: p.Log}
		return s.Handler()
	}))
}
