package aws

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/aws/stack"
)

// environ is what the stack sets, changed by pairs.
func environ(changes ...string) []string {
	env := map[string]string{
		stack.EnvHistoryTable: "h", stack.EnvCatalogueTable: "c", stack.EnvIndexTable: "i", stack.EnvPayloadBucket: "p", stack.EnvArchiveBucket: "a", stack.EnvInboxQueue: "q",
		stack.EnvTimersQueue: "t", stack.EnvEventsQueue: "e", stack.EnvTimersQueueARN: "arn", stack.EnvSchedulerGroup: "g", stack.EnvSchedulerRole: "r", stack.EnvBus: "b", stack.EnvTokenKey: "k",
		stack.EnvTasksQueue("default"): "d", stack.EnvTasksQueue("gpu-large"): "gl", stack.EnvRetention: "720h", stack.EnvLogLevel: "debug", stack.EnvRoutes: "render.*=gpu-large,pay=money",
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
}

func TestConfigOfAClassNeedsLess(t *testing.T) {
	_, err := readConfig([]string{stack.EnvCommits + "=false", stack.EnvHistoryTable + "=h", stack.EnvPayloadBucket + "=p", stack.EnvInboxQueue + "=q"})
	require.NoError(t, err)
}

func TestConfigSaysAllThatIsWrong(t *testing.T) {
	_, err := readConfig(environ(stack.EnvInboxQueue+"=", stack.EnvBus+"=", stack.EnvRetention+"=soon", stack.EnvLogLevel+"=loud", stack.EnvRoutes+"=x"))
	require.Error(t, err)
	_, short := readConfig(environ(stack.EnvRetention + "=24h"))
	require.ErrorContains(t, short, "longer than queues keep messages")
	for _, name := range []string{stack.EnvInboxQueue, stack.EnvBus, stack.EnvRetention, stack.EnvLogLevel, stack.EnvRoutes} {
		require.ErrorContains(t, err, name)
	}
}
