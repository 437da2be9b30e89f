package wovyr

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsscheduler"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

// Wovyr is one deployment of the engine. Its fields are for apps that add to it.
type Wovyr struct {
	constructs.Construct
	// History, Catalogue and Index are the event store.
	History, Catalogue, Index awsdynamodb.Table
	// Payloads holds large values, Archive the histories whose retention is over.
	Payloads, Archive awss3.Bucket
	// Bus carries lifecycle events out and events for executions in.
	Bus awsevents.EventBus
	// URL is where the API is.
	URL *string
	// Key is the stack's own key, or nil.
	Key awskms.Key
	// Functions are all functions, by the IDs that they have in the stack.
	Functions map[string]awslambda.Function

	props         Props
	removal       awscdk.RemovalPolicy
	inbox, timers queue
	events        queue
	unpublished   awssqs.Queue
	tasks         map[string]queue
	schedules     awsscheduler.CfnScheduleGroup
	schedulerRole awsiam.Role
	tokens        awssecretsmanager.Secret
	// roles are those of the functions, by the functions' IDs.
	roles map[string]awsiam.Role
}

// NewWovyr adds a deployment of Wovyr to an app. It panics with what is wrong in props.
func NewWovyr(scope constructs.Construct, id *string, props *Props) *Wovyr {
	w := &Wovyr{Construct: constructs.NewConstruct(scope, id), removal: awscdk.RemovalPolicy_RETAIN, roles: map[string]awsiam.Role{}}
	if props != nil {
		w.props = *props
	}
	if w.props = w.props.withDefaults(); w.props.Ephemeral {
		w.removal = awscdk.RemovalPolicy_DESTROY
	}
	w.store()
	w.queues()
	api := w.gateway()
	timer := w.timer()
	w.Functions = map[string]awslambda.Function{"Api": api, "Timer": timer, "Orchestrator": w.orchestrator(), "Activity": w.activity(), "Publisher": w.publisher()}
	for _, c := range w.props.Classes {
		w.Functions["Class"+pascal(c.Name)] = w.class(c)
	}
	if senders := w.senders(); senders != "" {
		w.Functions["Orchestrator"].AddEnvironment(jsii.String(stack.EnvSenders), jsii.String(senders), nil)
	}
	w.rules(timer, w.Functions["Publisher"])
	w.watch()
	w.outputs()
	return w
}

// store makes what holds data.
func (w *Wovyr) store() {
	w.Key = w.customerKey()
	w.tokens = w.tokenKey()
	w.History = w.table("History", schema.History)
	w.Catalogue = w.table("Catalogue", schema.Catalogue)
	w.Index = w.table("Index", schema.Index)
	w.Payloads = w.bucket("Payloads", &awss3.LifecycleRule{Id: jsii.String("incoming"), Prefix: jsii.String("incoming/"), Expiration: awscdk.Duration_Days(jsii.Number(2))},
		&awss3.LifecycleRule{Id: jsii.String("collecting"), Prefix: jsii.String("collecting/"), Expiration: awscdk.Duration_Days(jsii.Number(1))}) // left by crashes
	w.Archive = w.bucket("Archive", &awss3.LifecycleRule{Id: jsii.String("cold"), Transitions: &[]*awss3.Transition{
		{StorageClass: awss3.StorageClass_GLACIER_INSTANT_RETRIEVAL(), TransitionAfter: awscdk.Duration_Days(jsii.Number(30))}}})
}

// queues makes what holds messages.
func (w *Wovyr) queues() {
	w.Bus = w.bus()
	w.inbox = w.queue("Inbox", true, stack.OrchestratorTimeout)
	w.timers = w.queue("Timers", false, stack.TimerTimeout)
	w.events = w.queue("Events", false, stack.PublisherTimeout)
	w.unpublished = w.deadLetters("Unpublished", false)
	w.tasks = map[string]queue{defaultClass: w.queue("Tasks", false, stack.ActivityTimeout)}
	for _, c := range w.props.Classes {
		w.tasks[c.Name] = w.queue("Tasks"+pascal(c.Name), false, c.timeout())
	}
	w.timing()
}

// outputs are what the command line reads.
func (w *Wovyr) outputs() {
	s := awscdk.Stack_Of(w.Construct)
	auth := "iam"
	if w.props.Auth.JWT != nil {
		auth = "jwt"
	} else if w.props.Auth.None {
		auth = "none"
	}
	for name, value := range map[string]*string{ // order-free: each is one output
		stack.OutputURL: w.URL, stack.OutputAuth: jsii.String(auth), stack.OutputRegion: s.Region(), stack.OutputBus: w.Bus.EventBusName(),
		stack.OutputHistory: w.History.TableName(), stack.OutputCatalogue: w.Catalogue.TableName(), stack.OutputIndex: w.Index.TableName(),
		stack.OutputPayloads: w.Payloads.BucketName(), stack.OutputEvents: w.events.QueueUrl(), stack.OutputPublisher: w.Functions["Publisher"].FunctionName(),
	} {
		awscdk.NewCfnOutput(w.Construct, jsii.String(name), &awscdk.CfnOutputProps{Value: value}).OverrideLogicalId(jsii.String(name))
	}
}
