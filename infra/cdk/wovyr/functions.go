package wovyr

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdaeventsources"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

// functionSpec describes one function.
type functionSpec struct {
	id, description string
	code            awslambda.Code
	memory          float64
	timeout         time.Duration
	environment     map[string]string
}

// function makes a function with a role and a log group of its own.
func (w *Wovyr) function(s functionSpec) awslambda.Function {
	logs := awslogs.NewLogGroup(w.Construct, jsii.String(s.id+"Logs"), &awslogs.LogGroupProps{
		Retention: w.props.LogRetention, EncryptionKey: keyOrNil(w.Key), RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	role := awsiam.NewRole(w.Construct, jsii.String(s.id+"Role"), &awsiam.RoleProps{AssumedBy: awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil)})
	logs.GrantWrite(role)
	w.roles[s.id] = role
	environment := map[string]*string{stack.EnvApplication: jsii.String(s.id)}
	for name, value := range s.environment { // order-free: a map again
		environment[name] = jsii.String(value)
	}
	return awslambda.NewFunction(w.Construct, jsii.String(s.id), &awslambda.FunctionProps{
		Description: jsii.String(s.description), Runtime: awslambda.Runtime_PROVIDED_AL2023(), Handler: jsii.String("bootstrap"),
		Architecture: w.props.Architecture, Code: s.code, MemorySize: jsii.Number(s.memory), Timeout: seconds(s.timeout), Role: role,
		LogGroup: logs, LoggingFormat: awslambda.LoggingFormat_JSON, Environment: &environment,
		// An activity may well start the workflow that it runs in: depth is bounded by the engine, not by the service, which would drop messages.
		RecursiveLoop: awslambda.RecursiveLoop_ALLOW,
	})
}

// own is the code of one of Wovyr's functions.
func (w *Wovyr) own(name string) awslambda.Code { return w.props.Code.Of(name, w.goarch()) }

// goarch is the architecture in Go's words.
func (w *Wovyr) goarch() string {
	if *w.props.Architecture.Name() == *awslambda.Architecture_X86_64().Name() {
		return "amd64"
	}
	return "arm64"
}

// environment is what every function of the engine gets.
func (w *Wovyr) environment(more map[string]string) map[string]string {
	env := map[string]string{
		stack.EnvHistoryTable: *w.History.TableName(), stack.EnvCatalogueTable: *w.Catalogue.TableName(), stack.EnvIndexTable: *w.Index.TableName(),
		stack.EnvPayloadBucket: *w.Payloads.BucketName(), stack.EnvArchiveBucket: *w.Archive.BucketName(),
		stack.EnvInboxQueue: *w.inbox.QueueUrl(), stack.EnvTimersQueue: *w.timers.QueueUrl(), stack.EnvEventsQueue: *w.events.QueueUrl(), stack.EnvTimersQueueARN: *w.timers.QueueArn(),
		stack.EnvSchedulerGroup: *w.schedules.Ref(), stack.EnvSchedulerRole: *w.schedulerRole.RoleArn(),
		stack.EnvBus: *w.Bus.EventBusName(), stack.EnvTokenKey: *w.tokens.SecretArn(), stack.EnvTenant: w.props.Tenant, stack.EnvSecrets: w.props.SecretsPrefix,
		stack.EnvRetention: w.props.Retention.String(), stack.EnvLogLevel: w.props.LogLevel,
		stack.EnvRoutes: w.routes(),
	}
	if w.URL != nil {
		env[stack.EnvURL] = *w.URL
	}
	if j := w.props.Auth.JWT; j != nil && j.TenantClaim != "" {
		env[stack.EnvTenantClaim] = j.TenantClaim
	}
	for class, q := range w.tasks { // order-free: a map again
		env[stack.EnvTasksQueue(class)] = *q.QueueUrl()
	}
	maps.Copy(env, more)
	return env
}

// orchestrator decides on what the inbox brings.
func (w *Wovyr) orchestrator() awslambda.Function {
	f := w.function(functionSpec{
		id: "Orchestrator", description: "Wovyr: decides on results, signals, timers and cancels", code: w.own("orchestrator"),
		memory: 512, timeout: stack.OrchestratorTimeout, environment: w.environment(nil),
	})
	w.consume(f, w.inbox, stack.InboxBatch, 0)
	w.engineRights(f)
	return f
}

// activity runs the activities of the class that is the engine's own, and commits what they came to (commit protocol, point 7).
func (w *Wovyr) activity() awslambda.Function {
	f := w.function(functionSpec{
		id: "Activity", description: "Wovyr: runs activities of the kinds that need no code of yours", code: w.own("activity"),
		memory: stack.ActivityMemory, timeout: stack.ActivityTimeout, environment: w.environment(map[string]string{stack.EnvClass: defaultClass, stack.EnvEgress: strings.Join(w.props.EgressAllow, ",")}),
	})
	w.consume(f, w.tasks[defaultClass], stack.OwnTasksBatch, 0)
	w.engineRights(f)
	w.mayUseSecrets(f)
	if arns := w.props.InvokeFunctions; len(arns) > 0 {
		f.AddToRolePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
			Sid: jsii.String("InvokeFunctions"), Actions: jsii.Strings("lambda:InvokeFunction", "lambda:GetFunctionConfiguration"), Resources: jsii.Strings(arns...)}))
	}
	return f
}

// timer turns timers that are due into messages, and sweeps.
func (w *Wovyr) timer() awslambda.Function {
	f := w.function(functionSpec{
		id: "Timer", description: "Wovyr: timers that are due, and the sweep for what should have moved", code: w.own("timer"),
		memory: 512, timeout: stack.TimerTimeout, environment: w.environment(nil),
	})
	w.consume(f, w.timers, stack.TimersBatch, 0)
	w.engineRights(f)
	w.mayKeepHouse(f)
	return f
}

// publisher derives the index, lifecycle events and metrics from the stream of the history, and takes in events from outside.
func (w *Wovyr) publisher() awslambda.Function {
	f := w.function(functionSpec{
		id: "Publisher", description: "Wovyr: index, lifecycle events and metrics from the history; events from outside", code: w.own("publisher"),
		memory: 512, timeout: stack.PublisherTimeout, environment: w.environment(map[string]string{stack.EnvUnpublishedQueue: *w.unpublished.QueueUrl()}),
	})
	f.AddEventSource(awslambdaeventsources.NewDynamoEventSource(w.History, &awslambdaeventsources.DynamoEventSourceProps{
		StartingPosition: awslambda.StartingPosition_TRIM_HORIZON, BatchSize: jsii.Number(stack.StreamBatch), MaxBatchingWindow: seconds(stack.StreamWindow), BisectBatchOnError: jsii.Bool(true),
		ReportBatchItemFailures: jsii.Bool(true), RetryAttempts: jsii.Number(stack.StreamRetries), ParallelizationFactor: jsii.Number(2),
		OnFailure: awslambdaeventsources.NewSqsDlq(w.unpublished), Filters: &[]*map[string]any{{"pattern": schema.StreamFilter}},
	}))
	w.consume(f, w.events, stack.EventsBatch, 0)
	w.unpublished.GrantConsumeMessages(f) // to publish again what failed
	w.unpublished.GrantSendMessages(f)
	w.engineRights(f)
	w.mayPublish(f)
	return f
}

// timeouts are how long the functions of the user's classes may run.
func (w *Wovyr) timeouts() string {
	var list []string
	for _, c := range w.props.Classes {
		list = append(list, c.Name+"="+c.timeout().String())
	}
	return strings.Join(list, ",")
}

// consume lets a function take from a queue, with an answer for each message.
func (w *Wovyr) consume(f awslambda.Function, q queue, batch, concurrency float64) {
	props := &awslambdaeventsources.SqsEventSourceProps{BatchSize: jsii.Number(batch), ReportBatchItemFailures: jsii.Bool(true)}
	if concurrency > 0 {
		props.MaxConcurrency = jsii.Number(concurrency)
	}
	f.AddEventSource(awslambdaeventsources.NewSqsEventSource(q.Queue, props))
}

// class makes the function of a user's own worker class. It takes tasks, claims them, answers to the inbox, and reads and writes payloads;
// nothing else.
func (w *Wovyr) class(c Class) awslambda.Function {
	id := "Class" + pascal(c.Name)
	memory, timeout := c.MemoryMiB, c.timeout()
	if memory == 0 {
		memory = 512
	}
	env := map[string]string{
		stack.EnvClass: c.Name, stack.EnvCommits: "false", stack.EnvInboxQueue: *w.inbox.QueueUrl(), stack.EnvTasksQueue(c.Name): *w.tasks[c.Name].QueueUrl(),
		stack.EnvHistoryTable: *w.History.TableName(), stack.EnvPayloadBucket: *w.Payloads.BucketName(), stack.EnvTenant: w.props.Tenant,
		stack.EnvSecrets: w.props.SecretsPrefix, stack.EnvLogLevel: w.props.LogLevel,
	}
	if w.URL != nil {
		env[stack.EnvURL] = *w.URL // for the addresses of tasks and callbacks
	}
	maps.Copy(env, c.Environment)
	if c.Code == nil {
		c.Code = compile("", ".", c.Main, "class-"+c.Name, w.goarch())
	}
	f := w.function(functionSpec{id: id, description: "Wovyr: activities of class " + c.Name, code: c.Code, memory: memory, timeout: timeout, environment: env})
	w.consume(f, w.tasks[c.Name], stack.TasksBatch, c.MaxConcurrency)
	w.may(f, "Inbox", w.inbox.QueueArn(), "sqs:SendMessage")
	w.mayClaim(f)
	w.mayUsePayloads(f)
	w.mayForgetPayloads(f, "incoming/*") // where large payloads stand until their names are known
	w.mayUseSecrets(f)
	return f
}

// senders are as whom the functions of classes send to the inbox: the orchestrator takes answers of theirs only.
func (w *Wovyr) senders() string {
	var list []string
	for _, c := range w.props.Classes {
		list = append(list, c.Name+"="+*w.roles["Class"+pascal(c.Name)].RoleId())
	}
	return strings.Join(list, ",")
}

func pascal(name string) string {
	parts := strings.Split(name, "-")
	for i, p := range parts {
		if p != "" {
			parts[i] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "")
}

// routes are which functions which class runs.
func (w *Wovyr) routes() string {
	var list []string
	for _, c := range w.props.Classes {
		for _, f := range c.Functions {
			list = append(list, f+"="+c.Name)
		}
	}
	return strings.Join(list, ",")
}

const defaultClass = "default"

// classes are the names of all classes, sorted.
func (w *Wovyr) classes() []string {
	return slices.Sorted(maps.Keys(w.tasks))
}
