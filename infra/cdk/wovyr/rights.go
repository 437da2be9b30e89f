package wovyr

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/jsii-runtime-go"

	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

// What the store does with its tables, and nothing else: no scan, no transaction.
var (
	tableReads  = jsii.Strings("dynamodb:GetItem", "dynamodb:Query", "dynamodb:BatchGetItem")
	tableWrites = jsii.Strings("dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:BatchWriteItem", "dynamodb:ConditionCheckItem")
)

// engineRights are those of a function that may commit (commit protocol, point 15).
func (w *Wovyr) engineRights(f awslambda.Function) {
	for _, t := range w.tables() {
		t.Grant(f, *tableReads...)
		t.Grant(f, *tableWrites...)
	}
	w.mayUsePayloads(f)
	w.mayUseObjects(f, w.Payloads, "s3:DeleteObject")
	w.mayUseObjects(f, w.Archive, "s3:PutObject")
	w.inbox.GrantSendMessages(f)
	w.timers.GrantSendMessages(f)
	for _, class := range w.classes() {
		w.tasks[class].GrantSendMessages(f)
	}
	w.tokens.GrantRead(f, nil)
	f.AddToRolePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid: jsii.String("Timers"), Actions: jsii.Strings("scheduler:CreateSchedule"),
		Resources: &[]*string{awscdk.Stack_Of(w.Construct).FormatArn(&awscdk.ArnComponents{
			Service: jsii.String("scheduler"), Resource: jsii.String("schedule"), ResourceName: jsii.String(*w.schedules.Ref() + "/*")})},
	}))
	w.schedulerRole.GrantPassRole(f.GrantPrincipal())
	w.Bus.GrantPutEventsTo(f, nil)
}

// mayClaim lets a function claim attempts: items of that kind only, so that it can write no history.
func (w *Wovyr) mayClaim(f awslambda.Function) {
	f.AddToRolePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid: jsii.String("Claims"), Actions: jsii.Strings("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"), Resources: &[]*string{w.History.TableArn()},
		Conditions: &map[string]any{"ForAllValues:StringLike": map[string]any{"dynamodb:LeadingKeys": []string{schema.ClaimPartition + "*"}}, "Null": map[string]any{"dynamodb:LeadingKeys": "false"}},
	}))
	if w.Key != nil {
		w.Key.GrantEncryptDecrypt(f)
	}
}

func (w *Wovyr) mayUsePayloads(f awslambda.Function) {
	w.mayUseObjects(f, w.Payloads, "s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload")
}

// mayUseObjects grants calls on the objects of a bucket, and lets a missing one be told from a forbidden one.
func (w *Wovyr) mayUseObjects(f awslambda.Function, b awss3.Bucket, actions ...string) {
	f.AddToRolePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Actions: jsii.Strings(actions...), Resources: &[]*string{b.ArnForObjects(jsii.String("*"))}}))
	f.AddToRolePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Actions: jsii.Strings("s3:ListBucket"), Resources: &[]*string{b.BucketArn()}}))
	if w.Key != nil {
		w.Key.GrantEncryptDecrypt(f)
	}
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
