package wovyr

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awseventstargets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsscheduler"
	"github.com/aws/jsii-runtime-go"

	"github.com/wovyr/wovyr/pkg/aws/stack"
)

// bus carries lifecycle events and events that workflows emit; what others put on it reaches waiting executions.
func (w *Wovyr) bus() awsevents.EventBus {
	return awsevents.NewEventBus(w.Construct, jsii.String("Bus"), &awsevents.EventBusProps{
		Description: jsii.String("Events of Wovyr, and events for it"), EventBusName: jsii.String(*awscdk.Stack_Of(w.Construct).StackName() + "-wovyr"), KmsKey: keyOrNil(w.Key),
	})
}

// timing makes the group of entries for timers of more than 15 minutes, and the role as which they send.
func (w *Wovyr) timing() {
	w.schedules = awsscheduler.NewCfnScheduleGroup(w.Construct, jsii.String("Schedules"), &awsscheduler.CfnScheduleGroupProps{
		Name: jsii.String(*awscdk.Stack_Of(w.Construct).StackName() + "-wovyr")})
	w.schedules.ApplyRemovalPolicy(w.removal, nil)
	w.schedulerRole = awsiam.NewRole(w.Construct, jsii.String("SchedulerRole"), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("scheduler.amazonaws.com"), &awsiam.ServicePrincipalOpts{
			Conditions: &map[string]any{"StringEquals": map[string]any{"aws:SourceAccount": awscdk.Stack_Of(w.Construct).Account()}}}),
	})
	w.timers.GrantSendMessages(w.schedulerRole)
}

// rules start the sweep and the replay, and bring events from outside.
func (w *Wovyr) rules(timer, publisher awslambda.Function) {
	sweep := awsevents.NewRule(w.Construct, jsii.String("Sweep"), &awsevents.RuleProps{
		Description: jsii.String("Looks for executions that should have moved"), Schedule: awsevents.Schedule_Rate(seconds(stack.SweepEvery))})
	sweep.AddTarget(awseventstargets.NewLambdaFunction(timer, &awseventstargets.LambdaFunctionProps{
		Event: awsevents.RuleTargetInput_FromObject(map[string]any{"wovyr": stack.SweepEvent}), RetryAttempts: jsii.Number(0)}))

	replay := awsevents.NewRule(w.Construct, jsii.String("Replay"), &awsevents.RuleProps{
		Description: jsii.String("Lets the publisher look after what it could not publish"), Schedule: awsevents.Schedule_Rate(seconds(stack.ReplayEvery))})
	replay.AddTarget(awseventstargets.NewLambdaFunction(publisher, &awseventstargets.LambdaFunctionProps{
		Event: awsevents.RuleTargetInput_FromObject(map[string]any{"wovyr": stack.ReplayEvent}), RetryAttempts: jsii.Number(0)}))

	target := awseventstargets.NewSqsQueue(w.events.Queue, &awseventstargets.SqsQueueProps{DeadLetterQueue: w.events.dead})
	own := awsevents.NewRule(w.Construct, jsii.String("EventsOfBus"), &awsevents.RuleProps{
		Description: jsii.String("Events that others put on Wovyr's bus"), EventBus: w.Bus,
		// Not those that this stack itself puts there: the publisher has taken them to their executions already.
		EventPattern: &awsevents.EventPattern{Source: awsevents.Match_AnythingBut(stack.EventSource)}})
	own.AddTarget(target)
	if len(w.props.ListenTo) > 0 {
		others := awsevents.NewRule(w.Construct, jsii.String("EventsOfDefaultBus"), &awsevents.RuleProps{
			Description: jsii.String("Events of the default bus that executions may wait for"), EventPattern: &awsevents.EventPattern{Source: jsii.Strings(w.props.ListenTo...)}})
		others.AddTarget(target)
	}
}
