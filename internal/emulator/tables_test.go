package emulator_test

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func attributes(name string) []types.AttributeDefinition {
	return []types.AttributeDefinition{{AttributeName: aws.String(name), AttributeType: types.ScalarAttributeTypeS}}
}

func key(name string) []types.KeySchemaElement {
	return []types.KeySchemaElement{{AttributeName: aws.String(name), KeyType: types.KeyTypeHash}}
}
