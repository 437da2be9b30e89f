package aws

import (
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestEventsGoOutInCallsThatFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var entries []types.PutEventsRequestEntry
		for _, size := range rapid.SliceOfN(rapid.IntRange(0, maxDetail), 1, 30).Draw(t, "sizes") {
			entries = append(entries, types.PutEventsRequestEntry{Detail: sdk.String(strings.Repeat("x", size)), DetailType: sdk.String("Execution Completed")})
		}
		for len(entries) > 0 {
			n := fits(entries)
			require.Positive(t, n)
			require.LessOrEqual(t, n, maxEntries)
			size := 0
			for _, e := range entries[:n] {
				size += len(*e.Detail) + len(*e.DetailType)
			}
			require.LessOrEqual(t, size, maxBatchBytes)
			entries = entries[n:]
		}
	})
}
