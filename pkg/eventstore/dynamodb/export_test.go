package dynamodb

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// CommitItem is the item of a commit, for tests that write behind the store's back.
func CommitItem(s eventstore.Stream, c eventstore.Commit) map[string]types.AttributeValue {
	return commitItem(s, c, nil)
}
