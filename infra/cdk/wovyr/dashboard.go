package wovyr

import (
	"maps"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/jsii-runtime-go"

	"github.com/wovyr/wovyr/pkg/aws/stack"
)

// ofEngine is a metric that the functions write themselves. Stacks of one account and region have it apart by the name of their bus.
func (w *Wovyr) ofEngine(name, statistic string) awscloudwatch.IMetric {
	return metric(stack.MetricsNamespace, name, statistic, map[string]*string{stack.MetricsDimension: w.Bus.EventBusName()})
}

// dashboard shows what operators look at first.
func (w *Wovyr) dashboard() {
	name := *awscdk.Stack_Of(w.Construct).StackName() + "-wovyr-" + *awscdk.Stack_Of(w.Construct).Region()
	d := awscloudwatch.NewDashboard(w.Construct, jsii.String("Dashboard"), &awscloudwatch.DashboardProps{DashboardName: jsii.String(name)})
	row := func(widgets ...awscloudwatch.IWidget) { d.AddWidgets(widgets...) }
	row(
		graph("Executions", w.ofEngine(stack.MetricStarted, "Sum"), w.ofEngine(stack.MetricCompleted, "Sum"), w.ofEngine(stack.MetricFailed, "Sum")),
		graph("Do not move, repaired, shards not swept", w.ofEngine(stack.MetricStuck, "Maximum"), w.ofEngine(stack.MetricRepaired, "Sum"), w.ofEngine(stack.MetricUnswept, "Maximum")),
		graph("Duration of executions, ms", w.ofEngine(stack.MetricDuration, "p50"), w.ofEngine(stack.MetricDuration, "p99")),
	)
	var ages, errors, durations []awscloudwatch.IMetric
	dead := []awscloudwatch.IMetric{w.ofEngine(stack.MetricDeadLetters, "Sum")}
	for _, q := range w.allQueues() {
		ages = append(ages, w.age(q))
	}
	for _, q := range w.allDead() {
		dead = append(dead, w.length(q))
	}
	for _, id := range slices.Sorted(maps.Keys(w.Functions)) {
		f := w.Functions[id]
		errors = append(errors, f.MetricErrors(nil), f.MetricThrottles(nil))
		durations = append(durations, f.MetricDuration(&awscloudwatch.MetricOptions{Statistic: jsii.String("p99")}))
	}
	row(graph("Oldest message, s", ages...), graph("Dead letters", dead...))
	row(graph("Errors and throttles of functions", errors...), graph("Duration of functions, ms, p99", durations...))
	var writes []awscloudwatch.IMetric
	for _, t := range w.tables() {
		writes = append(writes, t.MetricConsumedWriteCapacityUnits(nil), t.MetricConsumedReadCapacityUnits(nil))
	}
	row(graph("Units of the tables", writes...))
}

func graph(title string, metrics ...awscloudwatch.IMetric) awscloudwatch.IWidget {
	return awscloudwatch.NewGraphWidget(&awscloudwatch.GraphWidgetProps{Title: jsii.String(title), Left: &metrics, Width: jsii.Number(8), Height: jsii.Number(6)})
}
