package stock

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/wovyr/wovyr/pkg/activity"
)

// fingerprint is a kind of our own: it gets the whole task, and reads an input of any size as a stream, without ever holding all of it.
type fingerprint struct{}

// Run implements activity.Activity.
func (fingerprint) Run(ctx context.Context, t *activity.Task) (activity.Result, error) {
	hash := sha256.New()
	if err := t.With.WriteText(ctx, hash); err != nil {
		return activity.Result{}, err
	}
	return activity.Result{Output: fmt.Appendf(nil, "%q", fmt.Sprintf("%x", hash.Sum(nil)))}, nil
}
