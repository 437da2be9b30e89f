package dynamodb_test

import (
	"context"
	"sync"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
)

// counter is middleware that counts requests by operation.
type counter struct {
	mu    sync.Mutex
	count map[string]int
}

func (c *counter) options(o *sdk.Options) {
	o.APIOptions = append(o.APIOptions, func(s *middleware.Stack) error {
		return s.Deserialize.Add(middleware.DeserializeMiddlewareFunc("Counter", func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
			middleware.DeserializeOutput, middleware.Metadata, error) {
			c.mu.Lock()
			if c.count == nil {
				c.count = map[string]int{}
			}
			c.count[middleware.GetOperationName(ctx)]++
			c.mu.Unlock()
			return next.HandleDeserialize(ctx, in)
		}), middleware.After)
	})
}

// take returns the counts since the last time.
func (c *counter) take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	count := c.count
	c.count = nil
	return count
}
