package s3_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/config"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/s3"
)

// It has no output: it needs a bucket.
func Example() {
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return
	}
	payloads := s3.New(awss3.NewFromConfig(cfg), "my-payloads")
	ref, err := payloads.Put(ctx, eventstore.Stream{Tenant: "acme", ID: "order-1"}, strings.NewReader(`{"large":true}`))
	fmt.Println(ref, err)
}
