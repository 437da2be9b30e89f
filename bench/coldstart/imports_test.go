package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// heavy are packages that only some functions need. A function that links one without need is larger, and starts later.
var heavy = map[string][]string{ // which functions need it
	"github.com/tetratelabs/wazero":                       {"activity"}, // scripts
	"google.golang.org/grpc":                              {"activity"},
	"github.com/jhump/protoreflect/v2/grpcreflect":        {"activity"},
	"github.com/aws/aws-sdk-go-v2/service/lambda":         {"activity"}, // function: { arn: … }
	"github.com/wovyr/wovyr/pkg/dsl":                      {"api"},      // documents are compiled when they are deployed
	"go.yaml.in/yaml/v4":                                  {"api"},
	"modernc.org/sqlite":                                  {},
	"github.com/aws/aws-sdk-go-v2/service/cloudformation": {},
}

// TestFunctionsLinkWhatTheyNeed looks at what each function is made of: the count that stands for its size and the time of its cold start.
func TestFunctionsLinkWhatTheyNeed(t *testing.T) {
	for _, f := range functions {
		out, err := exec.Command("go", "list", "-deps", "github.com/wovyr/wovyr/functions/"+f).Output()
		require.NoError(t, err)
		linked := map[string]bool{}
		for line := range strings.Lines(string(out)) {
			linked[strings.TrimSpace(line)] = true
		}
		for pkg, needed := range heavy { // order-free: each is for itself
			want := false
			for _, n := range needed {
				want = want || n == f
			}
			require.Equal(t, want, linked[pkg], "%s and %s", f, pkg)
		}
	}
}
