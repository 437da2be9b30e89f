package emulator_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/emulator"
)

func TestEachTestHasAnAccountOfItsOwn(t *testing.T) {
	first, second := dynamodb.NewFromConfig(emulator.Config(t)), dynamodb.NewFromConfig(emulator.Config(t))
	for _, c := range []*dynamodb.Client{first, second} {
		_, err := c.CreateTable(context.Background(), &dynamodb.CreateTableInput{
			TableName: aws.String("same"), BillingMode: "PAY_PER_REQUEST",
			AttributeDefinitions: attributes("p"), KeySchema: key("p"),
		})
		require.NoError(t, err, "the other's table is not in the way")
	}
}
