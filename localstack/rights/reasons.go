package rights

// Reasons are why functions have rights that a run of the scenarios may not need.
var Reasons = []Reason{
	{Actions: []string{"logs:CreateLogStream", "logs:PutLogEvents"}, Why: "Lambda writes the function's log as its role"},
	{Actions: []string{"sqs:GetQueueUrl"}, Why: "CDK grants it with the reading of a queue"},
	{Actions: []string{"dynamodb:ListStreams"}, Functions: []string{"Publisher"}, Why: "CDK grants it with the reading of a stream"},
	{Actions: []string{"sqs:ChangeMessageVisibility"}, Why: "a message that cannot be handled now is put back for a time"},
	{Actions: []string{"sqs:SendMessage", "sqs:GetQueueAttributes"}, Functions: []string{"Publisher"}, Resource: "Unpublished", Why: "Lambda sends there what the publisher failed at, as its role"},

	{Actions: []string{"dynamodb:GetItem"}, Resource: "History", Why: "claims, notices and dead letters are read where something was sent twice or went wrong"},
	{Actions: []string{"dynamodb:UpdateItem"}, Resource: "History", Why: "the claim of a long activity is extended, and the first events of a key are let go"},
	{Actions: []string{"dynamodb:DeleteItem"}, Resource: "History", Why: "a wait that is over is no longer subscribed, and a dead letter that was sent again is gone"},
	{Actions: []string{"dynamodb:Query", "dynamodb:PutItem"}, Functions: []string{"Timer"}, Resource: "History", Why: "the sweep repairs an execution that should have moved"},
	{Actions: []string{"dynamodb:GetItem", "dynamodb:Query"}, Resource: "Catalogue", Why: "a definition that a warm function does not know yet, or the newest version of a child's"},
	{Actions: []string{"dynamodb:GetItem"}, Resource: "Index", Why: "whether an execution exists of which nothing else is there"},
	{Actions: []string{"s3:GetObject", "s3:PutObject", "s3:ListBucket", "s3:AbortMultipartUpload", "s3:DeleteObject"}, Resource: "payloads", Why: "whoever decides may meet a value that is kept by reference, and moves a large one to its name"},
	{Actions: []string{"sqs:SendMessage"}, Resource: "Timers", Why: "whoever decides may set a timer"},
	{Actions: []string{"sqs:SendMessage"}, Resource: "Tasks", Why: "whoever decides may start an activity"},
	{Actions: []string{"scheduler:CreateSchedule", "iam:PassRole"}, Why: "whoever decides may set a timer of more than 15 minutes"},
	{Actions: []string{"secretsmanager:GetSecretValue"}, Resource: "TokenKey", Why: "whoever decides may start an activity that answers by a callback, and the API checks its answer"},
	{Actions: []string{"secretsmanager:GetSecretValue", "ssm:GetParameter"}, Resource: "wovyr/", Why: "secrets of workflows: those that activities use, and those that webhooks are verified by"},

	{Actions: []string{"dynamodb:BatchGetItem", "dynamodb:UpdateItem", "dynamodb:PutItem"}, Functions: []string{"Timer"}, Resource: "Index", Why: "rows of executions that are overdue, or whose retention is over"},
	{Actions: []string{"dynamodb:BatchWriteItem"}, Functions: []string{"Timer"}, Resource: "History", Why: "an execution is removed when its retention is over"},
	{Actions: []string{"s3:PutObject", "s3:AbortMultipartUpload"}, Functions: []string{"Timer"}, Resource: "archive", Why: "its history is archived before"},
}
