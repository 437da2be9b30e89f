package awsproxy_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/awsproxy"
	"github.com/wovyr/wovyr/internal/emulator"
)

// calls is set in the process that plays a function: it lists the queues of the emulator through the proxy until somebody ends it.
const calls = "AWSPROXY_TEST_CALLS"

func TestCaller(t *testing.T) {
	if os.Getenv(calls) == "" {
		t.Skip("a part of TestKilled, which runs it in a process of its own")
	}
	cfg := emulator.Config(t)
	cfg.AppID = "Activity"
	for range 100 {
		_, _ = sqs.NewFromConfig(cfg).ListQueues(t.Context(), &sqs.ListQueuesInput{})
	}
}

// TestKilled shows that the process that called is killed if it is behind the proxy, and that nobody else is.
func TestKilled(t *testing.T) {
	p, _ := behind(t, "")
	f := &awsproxy.Faults{Rate: 1, Kinds: []awsproxy.Fault{awsproxy.Killed}}
	f.Seed(1)
	p.Suffer(f)
	caller := func(address string) error {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCaller$")
		c.Env = append(os.Environ(), calls+"=1", emulator.Env+"="+p.URL, "AWS_ENDPOINT_URL_DYNAMODB="+address)
		return c.Run()
	}
	require.NoError(t, caller("http://127.0.0.1:1"), "a process that is not behind the proxy lives")
	require.Zero(t, f.Counts()[awsproxy.Killed])
	var exit *exec.ExitError
	require.ErrorAs(t, caller(p.URL), &exit)
	require.Equal(t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal())
	require.Equal(t, 1, f.Counts()[awsproxy.Killed])
}
