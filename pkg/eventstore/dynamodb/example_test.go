package dynamodb_test

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb"
)

// It has no output: it needs tables, which a deployment makes.
func Example() {
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return
	}
	store := dynamodb.New(sdk.NewFromConfig(cfg), dynamodb.TablesOf("wovyr-"), dynamodb.Options{Tombstones: 15 * 24 * time.Hour})
	defer store.Close()
	order := eventstore.Stream{Tenant: "acme", ID: "order-1"}
	commit := eventstore.Commit{First: 1, Last: 2, Nonce: eventstore.Nonce{1}, Data: []byte("two events")}
	err = eventstore.AppendSurely(ctx, store, order, commit, nil, eventstore.Patience{Tries: 5})
	fmt.Println(err)
}
