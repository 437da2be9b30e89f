package connect_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/wovyr/wovyr/pkg/aws/connect"
	"github.com/wovyr/wovyr/pkg/client"
)

// A program that knows the address of the API calls it as the identity of its role: it needs the right execute-api:Invoke and nothing else.
func ExampleSigner() {
	cfg := aws.Config{Region: "eu-north-1", Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", "")} // connect.Load(ctx)
	c := &client.Client{
		Server: "http://127.0.0.1:1", // https://a1b2c3.execute-api.eu-north-1.amazonaws.com
		HTTP:   &http.Client{Transport: &connect.Signer{Credentials: cfg.Credentials, Region: cfg.Region}},
	}
	_, err := c.Start(context.Background(), client.StartRequest{Workflow: "order", Key: "order-7"})
	fmt.Println(errors.Is(err, client.ErrUnreachable))
	// Output: true
}

// A program that knows the name of the stack.
func ExampleFind() {
	cfg := aws.Config{} // connect.Load(ctx)
	stack, err := connect.Find(context.Background(), cfg, "wovyr")
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := stack.Client("") // the token, where the stack takes tokens
	fmt.Println(c, err)
	// Output: no region of AWS is set: set AWS_REGION, or give the profile one (`aws configure`)
}
