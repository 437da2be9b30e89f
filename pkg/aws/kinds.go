package aws

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/builtin"
	"github.com/wovyr/wovyr/pkg/activity/egress"
	"github.com/wovyr/wovyr/pkg/aws/stack"
)

// Kinds are the built-in kinds of activities, with the addresses that the stack allows besides public ones. Compiled scripts are kept as long as
// the function's sandbox lives.
func Kinds() (*activity.Registry, error) {
	var allow []string
	if list := os.Getenv(stack.EnvEgress); list != "" {
		allow = strings.Split(list, ",")
	}
	guard, err := egress.New(allow...)
	if err != nil {
		return nil, fmt.Errorf("aws: %s: %w", stack.EnvEgress, err)
	}
	return builtin.Registry(builtin.Options{Guard: guard, Dir: ".", Cache: filepath.Join(os.TempDir(), "compiled")})
}
