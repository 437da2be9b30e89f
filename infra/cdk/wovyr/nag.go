package wovyr

import (
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"
)

// suppressed are the rules of cdk-nag's AwsSolutions that the construct breaks on purpose, each with what it applies to (patterns; none: all of it)
// and the reason.
var suppressed = []struct {
	rule, reason string
	appliesTo    []string
}{
	{rule: "AwsSolutions-SMG4", reason: "The key signs tokens that people may answer after weeks: rotation by the clock would make them invalid. docs/deploy.md says how to change it by hand."},
	{rule: "AwsSolutions-S1", reason: "Access to objects is recorded by CloudTrail's data events where an account wants that. A log bucket for each stack would cost more than the data."},
	{rule: "AwsSolutions-SQS3", reason: "The queue is the destination of failures of the stream's mapping, so it is a dead-letter queue itself."},
	{rule: "AwsSolutions-APIG4", reason: "Requests to these routes prove themselves: by a signed token, or by a signature that the workflow's trigger names."},
	{rule: "AwsSolutions-APIG2", reason: "The API's own function checks each request against its form, and says what is wrong with it."},
	{rule: "AwsSolutions-APIG6", reason: "Each request is in the access log. API Gateway's log of executions needs a role that is set for a whole account and region, which a stack must not change."},
	{rule: "AwsSolutions-COG4", reason: "Callers sign their requests (IAM), whoever they are; a pool of users is not asked for."},
	{rule: "AwsSolutions-IAM5", reason: "The keys of objects are hashes of their content: the bucket is the unit of access.", appliesTo: []string{`/^Resource::<.*(Payloads|Archive).*\.Arn>\/(\w+\/)?\*$/`}},
	{rule: "AwsSolutions-IAM5", reason: "Entries are named by execution and time: the group is the unit of access.", appliesTo: []string{`/^Resource::arn:.*:scheduler:.*:schedule\/.*\/\*$/`}},
	{rule: "AwsSolutions-IAM5", reason: "Workflows may use the secrets under the prefix, which are added without a deployment.", appliesTo: []string{`/^Resource::arn:.*:(secretsmanager|ssm):.*\*$/`}},
	{rule: "AwsSolutions-IAM5", reason: "Calls that CDK grants for a key of the stack's own: any data key of that key.", appliesTo: []string{`/^Action::kms:(ReEncrypt|GenerateDataKey)\*$/`}},
	{rule: "AwsSolutions-IAM5", reason: "A stream's description has no resource to name.", appliesTo: []string{`/^Resource::\*$/`}},
}

// SuppressNag tells cdk-nag why the construct breaks the rules that it breaks. Any other finding is for the app to mend.
func SuppressNag(w *Wovyr) {
	var list []*cdknag.NagPackSuppression
	for _, s := range suppressed {
		one := &cdknag.NagPackSuppression{Id: jsii.String(s.rule), Reason: jsii.String(s.reason)}
		if len(s.appliesTo) > 0 {
			patterns := []any{}
			for _, p := range s.appliesTo {
				patterns = append(patterns, &cdknag.RegexAppliesTo{Regex: jsii.String(p)})
			}
			one.AppliesTo = &patterns
		}
		list = append(list, one)
	}
	cdknag.NagSuppressions_AddResourceSuppressions(w.Construct, &list, jsii.Bool(true))
}
