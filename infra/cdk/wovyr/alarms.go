package wovyr

import (
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/wovyr/wovyr/pkg/aws/stack"
)

const (
	// oldMessage is the age of the oldest message of a queue that alarms: somebody should have handled it long before.
	oldMessage = 10 * time.Minute
	// oldRecord is how far the publisher may be behind the history. The stream keeps records for a day.
	oldRecord = 5 * time.Minute
	// noSweep is for how long the sweep may tell nothing.
	noSweep = 15 * time.Minute
)

// watch makes the alarms and the dashboard.
func (w *Wovyr) watch() {
	for _, dead := range w.allDead() {
		what := "Messages that no function could handle: read its log, mend the cause, then redrive the queue to its source (docs/deploy.md)"
		if dead == w.unpublished {
			what = "Changes that the publisher could not handle: read its log and mend the cause, then they are published again (docs/deploy.md)"
		}
		w.alarm(*dead.Node().Id()+"Alarm", what, w.length(dead), 1, 1)
	}
	for _, q := range w.allQueues() {
		if q.name == "Timers" {
			continue // its messages are as old as their delay
		}
		w.alarm(q.name+"OldAlarm", "Messages wait too long: is the function throttled, or failing?", w.age(q), oldMessage.Seconds(), 3)
	}
	for _, name := range slices.Sorted(maps.Keys(w.Functions)) {
		f := w.Functions[name]
		w.alarm(name+"ThrottlesAlarm", "The function is throttled: raise the account's concurrency", f.MetricThrottles(over(5*time.Minute)), 10, 3)
		w.alarm(name+"ErrorsAlarm", "Invocations fail as a whole: read the function's log", f.MetricErrors(over(5*time.Minute)), 5, 3)
	}
	for _, t := range w.tables() {
		id := *t.Node().Id()
		for _, m := range []string{"ReadThrottleEvents", "WriteThrottleEvents"} {
			w.alarm(id+m+"Alarm", "The table is throttled: one execution is written to too fast, or the account's limit is reached",
				metric("AWS/DynamoDB", m, "Sum", map[string]*string{"TableName": t.TableName()}), 10, 3)
		}
	}
	w.alarm("BuriedAlarm", "Messages that the engine refused or gave up, each with its cause: look at `wovyr deadletters`, mend the cause, and send them again", w.ofEngine(stack.MetricDeadLetters, "Sum"), 1, 1)
	w.sweepAlarm()
	w.alarm("StuckAlarm", "Executions do not move although the sweep has repaired them again and again: `wovyr list --stuck`", w.stuck(), 1, 1)
	w.alarm("PublisherBehindAlarm", "The publisher is behind: lists and events lag the histories",
		metric("AWS/Lambda", "IteratorAge", "Maximum", map[string]*string{"FunctionName": w.Functions["Publisher"].FunctionName()}), float64(oldRecord.Milliseconds()), 3)
	if !w.props.NoDashboard {
		w.dashboard()
	}
}

// alarm makes an alarm that is raised when a metric is at or over a threshold for so many periods in a row.
func (w *Wovyr) alarm(id, description string, m awscloudwatch.IMetric, threshold, periods float64) {
	w.tell(awscloudwatch.NewAlarm(w.Construct, jsii.String(id), &awscloudwatch.AlarmProps{
		AlarmDescription: jsii.String(description), Metric: m, Threshold: jsii.Number(threshold), EvaluationPeriods: jsii.Number(periods),
		ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD, TreatMissingData: awscloudwatch.TreatMissingData_NOT_BREACHING,
	}))
}

// sweepAlarm makes the alarm of a sweep that does not run, or never gets through all shards: without it, nobody would find a message that was lost, and
// no other alarm would say so.
func (w *Wovyr) sweepAlarm() {
	w.tell(awscloudwatch.NewAlarm(w.Construct, jsii.String("SweepAlarm"), &awscloudwatch.AlarmProps{
		AlarmDescription: jsii.String("The sweep does not run, or gets through no round: is the rule Sweep enabled? Read the log of the function Timer"),
		Metric:           w.ofEngine(stack.MetricUnswept, "Minimum"), Threshold: jsii.Number(1), EvaluationPeriods: jsii.Number(noSweep.Minutes() / 5),
		ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD, TreatMissingData: awscloudwatch.TreatMissingData_BREACHING,
	}))
}

// tell sends an alarm to the topic of the app, if it has one.
func (w *Wovyr) tell(a awscloudwatch.Alarm) {
	if w.props.AlarmTopic != nil {
		a.AddAlarmAction(awscloudwatchactions.NewSnsAction(w.props.AlarmTopic))
	}
}

// allQueues are the queues that functions take from, by name.
func (w *Wovyr) allQueues() []queue {
	all := []queue{w.inbox, w.timers, w.events}
	for _, class := range w.classes() {
		all = append(all, w.tasks[class])
	}
	return all
}

// allDead are the queues of what nobody could handle.
func (w *Wovyr) allDead() []awssqs.Queue {
	all := []awssqs.Queue{w.unpublished}
	for _, q := range w.allQueues() {
		all = append(all, q.dead)
	}
	return all
}

func (w *Wovyr) length(q awssqs.Queue) awscloudwatch.IMetric {
	return metric("AWS/SQS", "ApproximateNumberOfMessagesVisible", "Maximum", map[string]*string{"QueueName": q.QueueName()})
}

func (w *Wovyr) age(q queue) awscloudwatch.IMetric {
	return metric("AWS/SQS", "ApproximateAgeOfOldestMessage", "Maximum", map[string]*string{"QueueName": q.QueueName()})
}

func (w *Wovyr) stuck() awscloudwatch.IMetric { return w.ofEngine(stack.MetricStuck, "Maximum") }

func over(d time.Duration) *awscloudwatch.MetricOptions {
	return &awscloudwatch.MetricOptions{Period: seconds(d), Statistic: jsii.String("Sum")}
}

func metric(namespace, name, statistic string, dimensions map[string]*string) awscloudwatch.IMetric {
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{Namespace: jsii.String(namespace), MetricName: jsii.String(name), Statistic: jsii.String(statistic),
		DimensionsMap: &dimensions, Period: awscdk.Duration_Minutes(jsii.Number(5))})
}
