package core

import (
	"context"
	"fmt"
	"time"
)

// Tests of the core may do what they like.
func helper(ctx context.Context, m map[int]int) {
	for range m {
	}
	fmt.Println(time.Now())
	go helper(ctx, m)
}
