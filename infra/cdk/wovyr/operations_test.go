package wovyr_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/infra/cdk/wovyr"
	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

// metricsOfEngine are all that the functions write.
var metricsOfEngine = []string{stack.MetricStuck, stack.MetricRepaired, stack.MetricUnswept, stack.MetricDeadLetters, stack.MetricStarted, stack.MetricCompleted, stack.MetricFailed, stack.MetricDuration}

// TestOperations looks at what keeps a deployment going and what tells that it does not: an emulator says nothing about either.
func TestOperations(t *testing.T) {
	c := code(t)
	tpl, _ := synth(t, wovyr.Props{Code: c, Classes: []wovyr.Class{{Name: "gpu-large", Functions: []string{"render.*"}, Code: c.Of("class", "arm64")}}})
	attribute := func(v any) (id, name string) {
		at := v.(map[string]any)["Fn::GetAtt"].([]any)
		return at[0].(string), at[1].(string)
	}
	dead := map[string]bool{} // queues that nobody takes from
	t.Run("messages that nobody can handle go to a queue of the same kind, which keeps them longer", func(t *testing.T) {
		for id, r := range tpl.of("AWS::SQS::Queue") {
			policy, ok := r.Properties["RedrivePolicy"].(map[string]any)
			if !ok {
				dead[id] = true
				require.EqualValues(t, stack.DeadLife.Seconds(), r.Properties["MessageRetentionPeriod"], id)
				continue
			}
			target, _ := attribute(policy["deadLetterTargetArn"])
			require.EqualValues(t, stack.MaxReceives, policy["maxReceiveCount"], id)
			require.Equal(t, r.Properties["FifoQueue"], tpl.Resources[target].Properties["FifoQueue"], id)
			require.EqualValues(t, stack.MessageLife.Seconds(), r.Properties["MessageRetentionPeriod"], id)
		}
		require.Greater(t, stack.DeadLife, stack.MessageLife)
		require.Less(t, stack.MaxFailures, stack.MaxReceives, "the worker buries what is wrong, with its cause, before the queue does")
	})
	t.Run("what is removed is remembered for longer than any queue keeps a message", func(t *testing.T) {
		require.Greater(t, stack.Tombstones, stack.DeadLife)
		require.Greater(t, stack.MinRetention, stack.DeadLife)
		for _, table := range []string{"History", "Index"} {
			r := tpl.one(t, "AWS::DynamoDB::Table", table)
			require.Equal(t, map[string]any{"AttributeName": schema.Expires, "Enabled": true}, r.Properties["TimeToLiveSpecification"], table)
		}
	})
	t.Run("the orchestrator, and nobody else, knows as whom classes send", func(t *testing.T) {
		for id, r := range tpl.of("AWS::Lambda::Function") {
			variables := string(text(t, r.Properties["Environment"]))
			if !strings.HasPrefix(id, "WovyrOrchestrator") {
				require.NotContains(t, variables, stack.EnvSenders, id)
				continue
			}
			require.Regexp(t, stack.EnvSenders+`":\{"Fn::Join":\["",\["gpu-large=",\{"Fn::GetAtt":\["WovyrClassGpuLargeRole[0-9A-F]{8}","RoleId"\]\}\]\]\}`, variables)
		}
	})
	t.Run("everything is encrypted", func(t *testing.T) {
		for id, r := range tpl.of("AWS::SQS::Queue") {
			require.Equal(t, true, r.Properties["SqsManagedSseEnabled"], id)
		}
		for id, r := range tpl.of("AWS::DynamoDB::Table") {
			require.Equal(t, map[string]any{"SSEEnabled": true}, r.Properties["SSESpecification"], id)
		}
		for id, r := range tpl.of("AWS::S3::BucketPolicy") {
			require.Contains(t, string(text(t, r.Properties)), `"aws:SecureTransport":"false"`, id)
		}
		for id, r := range tpl.of("AWS::SQS::QueuePolicy") {
			require.Contains(t, string(text(t, r.Properties)), `"aws:SecureTransport":"false"`, id)
		}
	})
	t.Run("functions take what the code expects", func(t *testing.T) {
		batches := map[string]float64{"Inbox": stack.InboxBatch, "Tasks": stack.OwnTasksBatch, "TasksGpuLarge": stack.TasksBatch, "Timers": stack.TimersBatch, "Events": stack.EventsBatch}
		seen := 0
		for id, r := range tpl.of("AWS::Lambda::EventSourceMapping") {
			source, kind := attribute(r.Properties["EventSourceArn"])
			if kind == "StreamArn" {
				require.EqualValues(t, stack.StreamBatch, r.Properties["BatchSize"], id)
				require.EqualValues(t, stack.StreamWindow.Seconds(), r.Properties["MaximumBatchingWindowInSeconds"], id)
				require.EqualValues(t, stack.StreamRetries, r.Properties["MaximumRetryAttempts"], id)
				require.Equal(t, "TRIM_HORIZON", r.Properties["StartingPosition"], "nothing of the first minutes is missed")
				to, _ := attribute(r.Properties["DestinationConfig"].(map[string]any)["OnFailure"].(map[string]any)["Destination"])
				require.True(t, dead[to], to)
				filters := r.Properties["FilterCriteria"].(map[string]any)["Filters"].([]any)
				require.Len(t, filters, 1)
				require.JSONEq(t, schema.StreamFilter, filters[0].(map[string]any)["Pattern"].(string))
				continue
			}
			name := regexp.MustCompile(`^Wovyr(\w+?)[0-9A-F]{8}$`).FindStringSubmatch(source)[1]
			require.EqualValues(t, batches[name], r.Properties["BatchSize"], source)
			require.NotContains(t, r.Properties, "MaximumBatchingWindowInSeconds", "no message waits for others")
			seen++
		}
		require.Equal(t, len(batches), seen)
	})
	t.Run("the sweep runs every minute", func(t *testing.T) {
		r := tpl.one(t, "AWS::Events::Rule", "Sweep")
		require.Equal(t, "rate(1 minute)", r.Properties["ScheduleExpression"])
		require.JSONEq(t, `{"wovyr":"`+stack.SweepEvent+`"}`, r.Properties["Targets"].([]any)[0].(map[string]any)["Input"].(string))
	})
	t.Run("each queue of what nobody could handle has its alarm", func(t *testing.T) {
		watched := map[string]bool{}
		for _, r := range tpl.of("AWS::CloudWatch::Alarm") {
			if r.Properties["MetricName"] != "ApproximateNumberOfMessagesVisible" {
				continue
			}
			id, name := attribute(r.Properties["Dimensions"].([]any)[0].(map[string]any)["Value"])
			require.Equal(t, "QueueName", name)
			require.EqualValues(t, 1, r.Properties["Threshold"], "the first one counts")
			require.EqualValues(t, 1, r.Properties["EvaluationPeriods"])
			watched[id] = true
		}
		require.Equal(t, dead, watched)
	})
	t.Run("docs/cost.md says how many alarms are paid for", func(t *testing.T) {
		page, err := os.ReadFile("../../../docs/cost.md")
		require.NoError(t, err)
		ofClass := 0
		for id := range tpl.of("AWS::CloudWatch::Alarm") {
			if strings.Contains(id, "GpuLarge") {
				ofClass++
			}
		}
		require.Equal(t, 4, ofClass, "the page says four alarms for a class")
		require.Contains(t, string(page), fmt.Sprintf("| %d alarms |", len(tpl.of("AWS::CloudWatch::Alarm"))-ofClass))
	})
	t.Run("alarms and the dashboard show what somebody writes, and all of it", func(t *testing.T) {
		shown := map[string]bool{}
		for id, r := range tpl.of("AWS::CloudWatch::Alarm") {
			if r.Properties["Namespace"] != stack.MetricsNamespace {
				continue
			}
			require.Contains(t, metricsOfEngine, r.Properties["MetricName"], id)
			require.Equal(t, stack.MetricsDimension, r.Properties["Dimensions"].([]any)[0].(map[string]any)["Name"], id)
		}
		for _, r := range tpl.of("AWS::CloudWatch::Dashboard") {
			body := string(text(t, r.Properties["DashboardBody"]))
			for _, m := range regexp.MustCompile(`\["Wovyr","(\w+)"`).FindAllStringSubmatch(strings.ReplaceAll(body, `\"`, `"`), -1) {
				require.Contains(t, metricsOfEngine, m[1])
				shown[m[1]] = true
			}
		}
		require.Len(t, shown, len(metricsOfEngine))
	})
	t.Run("a sweep that does not run is no silence", func(t *testing.T) {
		r := tpl.one(t, "AWS::CloudWatch::Alarm", "SweepAlarm")
		require.Equal(t, "breaching", r.Properties["TreatMissingData"])
		require.Equal(t, stack.MetricUnswept, r.Properties["MetricName"])
		require.Equal(t, "Minimum", r.Properties["Statistic"], "one whole round in five minutes is enough")
	})
	t.Run("nothing is left for a service to put in", func(t *testing.T) {
		require.NotContains(t, string(text(t, tpl)), "<aws.scheduler")
	})
	t.Run("what crashes leave in the payload bucket goes", func(t *testing.T) {
		rules := string(text(t, tpl.one(t, "AWS::S3::Bucket", "Payloads").Properties["LifecycleConfiguration"]))
		for _, prefix := range []string{"incoming/", "collecting/"} {
			require.Contains(t, rules, `"Prefix":"`+prefix+`"`)
		}
		require.Contains(t, rules, "AbortIncompleteMultipartUpload")
		require.NotContains(t, string(text(t, tpl.one(t, "AWS::S3::Bucket", "Archive").Properties["LifecycleConfiguration"])), "Expiration", "nobody removes an archive")
	})
}

// TestCustomerKeyEverywhere gives the stack a key of its own: all that holds data is encrypted with it.
func TestCustomerKeyEverywhere(t *testing.T) {
	tpl, _ := synth(t, wovyr.Props{Code: code(t), CustomerKey: true})
	var key string
	for id := range tpl.of("AWS::KMS::Key") {
		key = id
	}
	require.NotEmpty(t, key)
	for _, kind := range []string{"AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::SQS::Queue", "AWS::Logs::LogGroup", "AWS::SecretsManager::Secret", "AWS::Events::EventBus"} {
		require.NotEmpty(t, tpl.of(kind), kind)
		for id, r := range tpl.of(kind) {
			require.Contains(t, string(text(t, r.Properties)), `"`+key+`"`, "%s %s", kind, id)
		}
	}
}

func text(t *testing.T, v any) []byte {
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return []byte(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(out)))
}
