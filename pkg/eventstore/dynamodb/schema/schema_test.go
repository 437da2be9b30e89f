package schema_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

func Example() {
	for _, t := range schema.Tables {
		fmt.Println(t.Name, t.Partition.Name, t.Sort.Name, t.Stream, len(t.Indexes))
	}
	// Output:
	// history p s true 0
	// catalogue p s false 0
	// index p  false 3
}

func TestStreamFilterIsAPattern(t *testing.T) {
	var pattern struct {
		EventName []string
		DynamoDB  struct {
			Keys map[string]map[string][]map[string]string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(schema.StreamFilter), &pattern))
	require.Equal(t, []string{"INSERT"}, pattern.EventName)
	require.Equal(t, schema.CommitPartition, pattern.DynamoDB.Keys[schema.History.Partition.Name]["S"][0]["prefix"])
	require.Equal(t, schema.CommitSort, pattern.DynamoDB.Keys[schema.History.Sort.Name]["S"][0]["prefix"])
}
