package dynamodb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

// Requests returns what asks DynamoDB for the tables, in the order of schema.Tables. The stack makes the same ones.
func (t Tables) Requests() []*sdk.CreateTableInput {
	names := []string{t.History, t.Catalogue, t.Index}
	var out []*sdk.CreateTableInput
	for i, table := range schema.Tables {
		out = append(out, request(names[i], table))
	}
	return out
}

func request(name string, t schema.Table) *sdk.CreateTableInput {
	in := &sdk.CreateTableInput{TableName: &name, BillingMode: types.BillingModePayPerRequest, KeySchema: keySchema(t.Partition, t.Sort)}
	if t.Stream {
		in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewImage}
	}
	keys := []schema.Key{t.Partition, t.Sort}
	for _, i := range t.Indexes {
		projection := &types.Projection{ProjectionType: types.ProjectionTypeAll}
		switch {
		case i.KeysOnly:
			projection.ProjectionType = types.ProjectionTypeKeysOnly
		case len(i.Include) > 0:
			projection.ProjectionType, projection.NonKeyAttributes = types.ProjectionTypeInclude, i.Include
		}
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: aws.String(i.Name), KeySchema: keySchema(i.Partition, i.Sort), Projection: projection,
		})
		keys = append(keys, i.Partition, i.Sort)
	}
	for i, k := range keys {
		if k.Name != "" && slices.Index(keys, k) == i {
			in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String(k.Name), AttributeType: types.ScalarAttributeType(k.Type)})
		}
	}
	return in
}

func keySchema(partition, sort schema.Key) []types.KeySchemaElement {
	out := []types.KeySchemaElement{{AttributeName: aws.String(partition.Name), KeyType: types.KeyTypeHash}}
	if sort.Name != "" {
		out = append(out, types.KeySchemaElement{AttributeName: aws.String(sort.Name), KeyType: types.KeyTypeRange})
	}
	return out
}

// maxCreate is how long Create waits for a table.
const maxCreate = 5 * time.Minute

// Create makes the tables that are not there, and waits until they can be used: for tests and emulators. A deployment makes its own, with a
// time to live, point-in-time recovery and protection from removal.
func (t Tables) Create(ctx context.Context, client *sdk.Client) error {
	var exists *types.ResourceInUseException
	for _, in := range t.Requests() {
		if _, err := client.CreateTable(ctx, in); err != nil && !errors.As(err, &exists) {
			return fmt.Errorf("dynamodb: create table %s: %w", *in.TableName, err)
		}
	}
	for _, in := range t.Requests() {
		err := sdk.NewTableExistsWaiter(client).Wait(ctx, &sdk.DescribeTableInput{TableName: in.TableName}, maxCreate, func(o *sdk.TableExistsWaiterOptions) {
			o.MinDelay, o.MaxDelay = 100*time.Millisecond, 5*time.Second
		})
		if err != nil {
			return fmt.Errorf("dynamodb: wait for table %s: %w", *in.TableName, err)
		}
	}
	return nil
}
