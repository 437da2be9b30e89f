package wovyr

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

// engineRights are those of a function that may commit (commit protocol, point 15), whatever else it does: what a decision reads and writes, and
// the sending of its commands. Each is a call that the code makes: localstack/rights holds both against each other.
func (w *Wovyr) engineRights(f awslambda.Function) {
	w.may(f, "History", w.History.TableArn(), "dynamodb:GetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem")
	w.may(f, "Definitions", w.Catalogue.TableArn(), "dynamodb:GetItem", "dynamodb:Query")
	w.may(f, "Rows", w.Index.TableArn(), "dynamodb:GetItem")
	w.mayUsePayloads(f)
	w.mayForgetPayloads(f, "incoming/*", "held/*", "owners/*")
	w.maySend(f)
	w.may(f, "TokenKey", w.tokens.SecretArn(), "secretsmanager:GetSecretValue")
}

// maySend lets a function send what a decision leads to: messages, tasks, and timers, the far ones by entries of EventBridge Scheduler.
func (w *Wovyr) maySend(f awslambda.Function) {
	w.may(f, "Inbox", w.inbox.QueueArn(), "sqs:SendMessage")
	w.may(f, "Timers", w.timers.QueueArn(), "sqs:SendMessage")
	for _, class := range w.classes() {
		w.may(f, "Tasks"+pascal(class), w.tasks[class].QueueArn(), "sqs:SendMessage")
	}
	w.may(f, "FarTimers", awscdk.Stack_Of(w.Construct).FormatArn(&awscdk.ArnComponents{
		Service: jsii.String("scheduler"), Resource: jsii.String("schedule"), ResourceName: jsii.String(*w.schedules.Ref() + "/*")}), "scheduler:CreateSchedule")
	f.AddToRolePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid: jsii.String("FarTimersSendAs"), Actions: jsii.Strings("iam:PassRole"), Resources: &[]*string{w.schedulerRole.RoleArn()},
		Conditions: &map[string]any{"StringEquals": map[string]any{"iam:PassedToService": "scheduler.amazonaws.com"}},
	}))
}

// mayDefine lets a function deploy definitions.
func (w *Wovyr) mayDefine(f awslambda.Function) {
	w.may(f, "Deploy", w.Catalogue.TableArn(), "dynamodb:PutItem")
}

// mayList lets a function list executions.
func (w *Wovyr) mayList(f awslambda.Function) {
	w.may(f, "Lists", w.index(schema.IndexList), "dynamodb:Query")
	w.may(f, "ListedRows", w.Index.TableArn(), "dynamodb:BatchGetItem")
}

// mayKeepHouse lets a function look for executions that should have moved, and archive and remove those whose retention is over.
func (w *Wovyr) mayKeepHouse(f awslambda.Function) {
	w.may(f, "Due", w.index(schema.IndexDue), "dynamodb:Query")
	w.may(f, "Over", w.index(schema.IndexPurge), "dynamodb:Query")
	w.may(f, "DueRows", w.Index.TableArn(), "dynamodb:BatchGetItem", "dynamodb:UpdateItem", "dynamodb:PutItem")
	w.may(f, "Purge", w.History.TableArn(), "dynamodb:BatchWriteItem")
	w.may(f, "Archive", w.Archive.ArnForObjects(jsii.String("*")), "s3:PutObject", "s3:AbortMultipartUpload")
	w.mayForgetPayloads(f, "data/*", "collecting/*")
}

// mayPublish lets a function write what derives from histories: rows, and events on the bus.
func (w *Wovyr) mayPublish(f awslambda.Function) {
	w.may(f, "PublishRows", w.Index.TableArn(), "dynamodb:UpdateItem")
	w.may(f, "PublishEvents", w.Bus.EventBusArn(), "events:PutEvents")
}

// index is the ARN of a secondary index of the table Index.
func (w *Wovyr) index(name string) *string {
	return jsii.String(*w.Index.TableArn() + "/index/" + name)
}

// may is one statement of a function's role, with a name that says what for.
func (w *Wovyr) may(f awslambda.Function, sid string, resource *string, actions ...string) {
	f.AddToRolePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Sid: jsii.String(sid), Actions: jsii.Strings(actions...), Resources: &[]*string{resource}}))
}

// mayUseKey lets a function use what the stack's own key encrypts, if there is one.
func (w *Wovyr) mayUseKey(f awslambda.Function) {
	if w.Key != nil {
		w.Key.GrantEncryptDecrypt(f)
	}
}

// mayClaim lets a function claim attempts: items of that kind only, so that it can write no history.
func (w *Wovyr) mayClaim(f awslambda.Function) {
	f.AddToRolePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid: jsii.String("Claims"), Actions: jsii.Strings("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"), Resources: &[]*string{w.History.TableArn()},
		Conditions: &map[string]any{"ForAllValues:StringLike": map[string]any{"dynamodb:LeadingKeys": []string{schema.ClaimPartition + "*"}}, "Null": map[string]any{"dynamodb:LeadingKeys": "false"}},
	}))
	w.mayUseKey(f)
}

// mayUsePayloads lets a function read and write large values. To list the bucket tells a missing one from a forbidden one, and who holds one.
func (w *Wovyr) mayUsePayloads(f awslambda.Function) {
	w.may(f, "Payloads", w.Payloads.ArnForObjects(jsii.String("*")), "s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload")
	w.may(f, "PayloadBucket", w.Payloads.BucketArn(), "s3:ListBucket")
	w.mayUseKey(f)
}

// mayForgetPayloads lets a function remove objects of the payload bucket whose names begin so.
func (w *Wovyr) mayForgetPayloads(f awslambda.Function, patterns ...string) {
	resources := make([]*string, len(patterns))
	for i, p := range patterns {
		resources[i] = w.Payloads.ArnForObjects(jsii.String(p))
	}
	f.AddToRolePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Actions: jsii.Strings("s3:DeleteObject"), Resources: &resources}))
}

// mayUseSecrets lets a function read the secrets and parameters whose names begin with the prefix.
func (w *Wovyr) mayUseSecrets(f awslambda.Function) {
	s := awscdk.Stack_Of(w.Construct)
	f.AddToRolePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid: jsii.String("Secrets"), Actions: jsii.Strings("secretsmanager:GetSecretValue"),
		Resources: &[]*string{s.FormatArn(&awscdk.ArnComponents{Service: jsii.String("secretsmanager"), Resource: jsii.String("secret"),
			ResourceName: jsii.String(w.props.SecretsPrefix + "*"), ArnFormat: awscdk.ArnFormat_COLON_RESOURCE_NAME})},
	}))
	f.AddToRolePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid: jsii.String("Parameters"), Actions: jsii.Strings("ssm:GetParameter"),
		Resources: &[]*string{s.FormatArn(&awscdk.ArnComponents{Service: jsii.String("ssm"), Resource: jsii.String("parameter"),
			ResourceName: jsii.String(strings.TrimPrefix(w.props.SecretsPrefix, "/") + "*")})},
	}))
}
