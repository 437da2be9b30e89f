// Command api is the Lambda function behind the HTTP API.
package main

import (
	"context"
	"log"
	"net/http"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/wovyr/wovyr/pkg/api"
	"github.com/wovyr/wovyr/pkg/aws"
)

func main() {
	p, err := aws.Setup(context.Background(), aws.Options{})
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(p.HTTP(func(tenant string) http.Handler {
		s := &api.Server{Worker: p.Worker, Ask: p.Ask, Tenant: tenant, Tokens: p.Tokens, Log: p.Log}
		return s.Handler()
	}))
}
