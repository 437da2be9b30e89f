package aws

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/aws/fit"
	"github.com/wovyr/wovyr/pkg/aws/kinds"
	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// environ is what the stack sets, changed by pairs.
func environ(changes ...string) []string {
	env := map[string]string{
		stack.EnvHistoryTable: "h", stack.EnvCatalogueTable: "c", stack.EnvIndexTable: "i", stack.EnvPayloadBucket: "p", stack.EnvArchiveBucket: "a", stack.EnvInboxQueue: "q",
		stack.EnvTimersQueue: "t", stack.EnvEventsQueue: "e", stack.EnvTimersQueueARN: "arn", stack.EnvSchedulerGroup: "g", stack.EnvSchedulerRole: "r", stack.EnvBus: "b", stack.EnvTokenKey: "k",
		stack.EnvTasksQueue("default"): "d", stack.EnvTasksQueue("gpu-large"): "gl", stack.EnvRetention: "720h", stack.EnvLogLevel: "debug", stack.EnvRoutes: "render.*=gpu-large,pay=money",
		stack.EnvTimeouts: "gpu-large=1m0s", stack.EnvSenders: "gpu-large=AROAGPU,money=AROAMONEY", stack.EnvInvoke: "arn:aws:lambda:eu-north-1:111122223333:function:price,arn:aws:lambda:eu-north-1:111122223333:function:shop-*",
	}
	for _, change := range changes {
		name, value, _ := strings.Cut(change, "=")
		env[name] = value
	}
	var out []string
	for name, value := range env {
		out = append(out, name+"="+value)
	}
	return out
}

func TestConfigOfTheStack(t *testing.T) {
	c, err := readConfig(environ())
	require.NoError(t, err)
	require.Equal(t, map[string]string{"default": "d", "gpu-large": "gl"}, c.TasksQueues)
	require.Equal(t, 720*time.Hour, c.Retention)
	require.Equal(t, "default", c.Tenant)
	require.True(t, c.Commits)
	for name, class := range map[string]string{"render.frame": "gpu-large", "pay": "money", "pays": "default", "render": "default"} {
		require.Equal(t, class, c.route("function", name), name)
	}
	require.Equal(t, "default", c.route("http", "pay"))
	require.Equal(t, map[string]time.Duration{"gpu-large": time.Minute}, c.Timeouts)
	require.Equal(t, map[string]string{"AROAGPU": "gpu-large", "AROAMONEY": "money"}, c.Senders)
	require.Len(t, c.Invoke, 2)
}

// TestWhatIsCheckedIsWhatRuns: what a deploy takes for there is what the activity function has.
func TestWhatIsCheckedIsWhatRuns(t *testing.T) {
	registry, err := kinds.Registry()
	require.NoError(t, err)
	var names []workflow.Kind
	for _, k := range registry.Kinds() {
		names = append(names, k.Name)
	}
	require.ElementsMatch(t, fit.Kinds, names)
	require.ElementsMatch(t, registry.Functions.Names(), Config{}.deployment().Functions)
}

func TestConfigOfAClassNeedsLess(t *testing.T) {
	_, err := readConfig([]string{stack.EnvCommits + "=false", stack.EnvHistoryTable + "=h", stack.EnvPayloadBucket + "=p", stack.EnvInboxQueue + "=q"})
	require.NoError(t, err)
}

func TestConfigSaysAllThatIsWrong(t *testing.T) {
	_, err := readConfig(environ(stack.EnvInboxQueue+"=", stack.EnvBus+"=", stack.EnvRetention+"=soon", stack.EnvLogLevel+"=loud", stack.EnvRoutes+"=x", stack.EnvTimeouts+"=gpu=soon", stack.EnvSenders+"=gpu"))
	require.Error(t, err)
	_, short := readConfig(environ(stack.EnvRetention + "=24h"))
	require.ErrorContains(t, short, "longer than queues keep messages")
	for _, name := range []string{stack.EnvInboxQueue, stack.EnvBus, stack.EnvRetention, stack.EnvLogLevel, stack.EnvRoutes, stack.EnvTimeouts, stack.EnvSenders} {
		require.ErrorContains(t, err, name)
	}
}
