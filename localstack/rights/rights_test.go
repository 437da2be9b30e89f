package rights_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/awsproxy"
	"github.com/wovyr/wovyr/internal/iampolicy"
	"github.com/wovyr/wovyr/localstack/rights"
)

var here = rights.Place{Partition: "aws", Region: "eu-north-1", Account: "111122223333"}

func ExampleRequests() {
	for _, r := range rights.Requests(here, rights.Role{}, awsproxy.Call{Function: "Activity", Service: "dynamodb", Operation: "PutItem", Resource: "history", Key: "k/order-17"}) {
		fmt.Println(r)
	}
	// Output: dynamodb:PutItem on arn:aws:dynamodb:eu-north-1:111122223333:table/history with map[dynamodb:LeadingKeys:[k/order-17]]
}

func TestRequests(t *testing.T) {
	role := rights.Role{PassedRole: "arn:aws:iam::111122223333:role/scheduler"}
	for call, want := range map[awsproxy.Call][]string{
		{Service: "dynamodb", Operation: "Query", Resource: "t/index/due"}:              {"dynamodb:Query on arn:aws:dynamodb:eu-north-1:111122223333:table/t/index/due"},
		{Service: "sqs", Operation: "SendMessageBatch", Resource: "q.fifo"}:             {"sqs:SendMessage on arn:aws:sqs:eu-north-1:111122223333:q.fifo"},
		{Service: "s3", Operation: "HeadObject", Resource: "b/k/l"}:                     {"s3:GetObject on arn:aws:s3:::b/k/l"},
		{Service: "s3", Operation: "UploadPart", Resource: "b/k"}:                       {"s3:PutObject on arn:aws:s3:::b/k"},
		{Service: "s3", Operation: "CopyObject", Resource: "b/k"}:                       {"s3:PutObject on arn:aws:s3:::b/k", "s3:GetObject on arn:aws:s3:::b/k"},
		{Service: "s3", Operation: "ListObjectsV2", Resource: "b"}:                      {"s3:ListBucket on arn:aws:s3:::b"},
		{Service: "events", Operation: "PutEvents", Resource: "bus"}:                    {"events:PutEvents on arn:aws:events:eu-north-1:111122223333:event-bus/bus"},
		{Service: "lambda", Operation: "Invoke", Resource: "shop"}:                      {"lambda:InvokeFunction on arn:aws:lambda:eu-north-1:111122223333:function:shop"},
		{Service: "lambda", Operation: "Invoke", Resource: "arn:aws:lambda:r:1:f:g"}:    {"lambda:InvokeFunction on arn:aws:lambda:r:1:f:g"},
		{Service: "secretsmanager", Operation: "GetSecretValue", Resource: "wovyr/key"}: {"secretsmanager:GetSecretValue on arn:aws:secretsmanager:eu-north-1:111122223333:secret:wovyr/key-AbCdEf"},
		{Service: "ssm", Operation: "GetParameter", Resource: "/wovyr/key"}:             {"ssm:GetParameter on arn:aws:ssm:eu-north-1:111122223333:parameter/wovyr/key"},
		{Service: "scheduler", Operation: "CreateSchedule", Resource: "group/name"}: {"scheduler:CreateSchedule on arn:aws:scheduler:eu-north-1:111122223333:schedule/group/name",
			"iam:PassRole on arn:aws:iam::111122223333:role/scheduler with map[iam:PassedToService:[scheduler.amazonaws.com]]"},
	} {
		var got []string
		for _, r := range rights.Requests(here, role, call) {
			got = append(got, r.String())
		}
		require.Equal(t, want, got, "%v", call)
	}
}

// roles are one role that may claim attempts and send, and is read a queue for.
func roles(t *testing.T) map[string]rights.Role {
	p, err := iampolicy.Parse([]byte(`{"Version": "2012-10-17", "Statement": [
		{"Effect": "Allow", "Action": ["dynamodb:GetItem", "dynamodb:PutItem"], "Resource": "arn:aws:dynamodb:eu-north-1:111122223333:table/history",
		 "Condition": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["k/*"]}, "Null": {"dynamodb:LeadingKeys": "false"}}},
		{"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "arn:aws:sqs:eu-north-1:111122223333:inbox.fifo"},
		{"Effect": "Allow", "Action": ["sqs:ReceiveMessage", "sqs:DeleteMessage"], "Resource": "arn:aws:sqs:eu-north-1:111122223333:tasks"}]}`))
	require.NoError(t, err)
	return map[string]rights.Role{"ClassShop": {Function: "ClassShop", Policies: []iampolicy.Policy{p}, Sources: []string{"arn:aws:sqs:eu-north-1:111122223333:tasks"}}}
}

func TestMissing(t *testing.T) {
	claim := awsproxy.Call{Function: "ClassShop", Service: "dynamodb", Operation: "PutItem", Resource: "history", Key: "k/1"}
	commit, all, send, nobody := claim, claim, claim, claim
	commit.Key, all.Key, nobody.Function = "x/1", "", ""
	send.Service, send.Operation, send.Resource, send.Key = "sqs", "SendMessageBatch", "tasks", ""
	require.Empty(t, rights.Missing(here, roles(t), map[awsproxy.Call]int{claim: 3}))
	require.Equal(t, []string{
		`"" is no function of the stack, and calls PutItem of dynamodb (1 times)`,
		"ClassShop may not do what it does: dynamodb:PutItem on arn:aws:dynamodb:eu-north-1:111122223333:table/history (4 times)",
		"ClassShop may not do what it does: dynamodb:PutItem on arn:aws:dynamodb:eu-north-1:111122223333:table/history with map[dynamodb:LeadingKeys:[x/1]] (2 times)",
		"ClassShop may not do what it does: sqs:SendMessage on arn:aws:sqs:eu-north-1:111122223333:tasks (5 times)",
	}, rights.Missing(here, roles(t), map[awsproxy.Call]int{commit: 2, all: 4, send: 5, nobody: 1}))
}

func TestUnused(t *testing.T) {
	calls := map[awsproxy.Call]int{{Function: "ClassShop", Service: "dynamodb", Operation: "PutItem", Resource: "history", Key: "k/1"}: 1}
	unused := rights.Unused(here, roles(t), calls)
	require.Equal(t, []rights.Grant{
		{"ClassShop", "dynamodb:GetItem", "arn:aws:dynamodb:eu-north-1:111122223333:table/history"},
		{"ClassShop", "sqs:SendMessage", "arn:aws:sqs:eu-north-1:111122223333:inbox.fifo"},
	}, unused, "Lambda itself needs the rest")
	grants := rights.Grants(roles(t))
	require.Len(t, grants, 5)
	require.Empty(t, rights.Unexplained(grants, unused, []rights.Reason{
		{Actions: []string{"dynamodb:GetItem"}, Why: "a claim that is there already"}, {Functions: []string{"ClassShop"}, Actions: []string{"sqs:SendMessage"}, Resource: "inbox", Why: "results"}}))
	wrong := rights.Unexplained(grants, unused, []rights.Reason{{Functions: []string{"Other"}, Actions: []string{"sqs:SendMessage"}, Why: "none"}, {Actions: []string{"dynamodb:GetItem"}, Why: "some"}})
	require.Len(t, wrong, 2)
	require.Contains(t, wrong[0], "sqs:SendMessage")
	require.Contains(t, wrong[1], `"none"`)
}
