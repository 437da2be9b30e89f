package kinds

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/builtin"
	"github.com/wovyr/wovyr/pkg/activity/egress"
	"github.com/wovyr/wovyr/pkg/aws/stack"
)

// Registry is a registry of all kinds of the activity function, with the addresses that the stack allows besides public ones. Compiled scripts are kept
// as long as the function's sandbox lives. The configuration of the SDK is that of the environment.
func Registry() (*activity.Registry, error) {
	var allow []string
	if list := os.Getenv(stack.EnvEgress); list != "" {
		allow = strings.Split(list, ",")
	}
	guard, err := egress.New(allow...)
	if err != nil {
		return nil, fmt.Errorf("aws: %s: %w", stack.EnvEgress, err)
	}
	registry, err := builtin.Registry(builtin.Options{Guard: guard, Dir: ".", Cache: filepath.Join(os.TempDir(), "compiled")})
	if err != nil {
		return nil, err
	}
	registry.Functions.AddForm("arn", NewInvoke(func(ctx context.Context) (sdk.Config, error) { return config.LoadDefaultConfig(ctx) }))
	return registry, nil
}
