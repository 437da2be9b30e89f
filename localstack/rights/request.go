package rights

import (
	"fmt"
	"strings"

	"github.com/wovyr/wovyr/internal/awsproxy"
	"github.com/wovyr/wovyr/internal/iampolicy"
)

// Place is where a stack stands.
type Place struct{ Partition, Region, Account string }

// PlaceOf is the place that the ARN of a role and a region name.
func PlaceOf(role, region string) Place {
	parts := strings.SplitN(role, ":", 6)
	if len(parts) < 6 {
		return Place{Partition: "aws", Region: region}
	}
	return Place{Partition: parts[1], Region: region, Account: parts[4]}
}

func (p Place) arn(service, resource string) string {
	return fmt.Sprintf("arn:%s:%s:%s:%s:%s", p.Partition, service, p.Region, p.Account, resource)
}

// actions are those whose name is not that of the operation.
var actions = map[string]string{
	"sqs:SendMessageBatch": "sqs:SendMessage", "sqs:DeleteMessageBatch": "sqs:DeleteMessage", "sqs:ChangeMessageVisibilityBatch": "sqs:ChangeMessageVisibility",
	"s3:HeadObject": "s3:GetObject", "s3:CopyObject": "s3:PutObject", "s3:CreateMultipartUpload": "s3:PutObject", "s3:UploadPart": "s3:PutObject",
	"s3:CompleteMultipartUpload": "s3:PutObject", "s3:ListObjectsV2": "s3:ListBucket", "s3:HeadBucket": "s3:ListBucket", "s3:DeleteObjects": "s3:DeleteObject",
	"lambda:Invoke": "lambda:InvokeFunction",
}

// Requests are what IAM is asked when a function makes a call: mostly one action on one resource.
func Requests(at Place, role Role, c awsproxy.Call) []iampolicy.Request {
	r := iampolicy.Request{Action: c.Service + ":" + c.Operation}
	if action, ok := actions[r.Action]; ok {
		r.Action = action
	}
	switch c.Service {
	case "dynamodb":
		r.Resource = at.arn("dynamodb", "table/"+c.Resource)
		if c.Key != "" {
			r.Context = map[string][]string{"dynamodb:LeadingKeys": {c.Key}}
		}
	case "s3":
		r.Resource = "arn:" + at.Partition + ":s3:::" + c.Resource
		if c.Operation == "CopyObject" { // within one bucket
			return []iampolicy.Request{r, {Action: "s3:GetObject", Resource: r.Resource}}
		}
	case "events":
		r.Resource = at.arn("events", "event-bus/"+c.Resource)
	case "scheduler":
		r.Resource = at.arn("scheduler", "schedule/"+c.Resource)
		return []iampolicy.Request{r, {Action: "iam:PassRole", Resource: role.PassedRole, Context: map[string][]string{"iam:PassedToService": {"scheduler.amazonaws.com"}}}}
	case "lambda":
		r.Resource = at.arn("lambda", "function:"+c.Resource)
		if strings.HasPrefix(c.Resource, "arn:") {
			r.Resource = c.Resource
		}
	case "secretsmanager":
		r.Resource = at.arn("secretsmanager", "secret:"+c.Resource+"-AbCdEf") // six characters that the service adds
		if strings.HasPrefix(c.Resource, "arn:") {
			r.Resource = c.Resource
		}
	case "ssm":
		r.Resource = at.arn("ssm", "parameter/"+strings.TrimPrefix(c.Resource, "/"))
	default: // sqs
		r.Resource = at.arn(c.Service, c.Resource)
	}
	return []iampolicy.Request{r}
}

// Polling are what Lambda itself asks for as the role of a function, to read a queue or a stream for it.
func Polling(source string) []iampolicy.Request {
	names := []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"}
	if strings.Contains(source, ":dynamodb:") {
		names = []string{"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"}
	}
	out := make([]iampolicy.Request, len(names))
	for i, name := range names {
		out[i] = iampolicy.Request{Action: name, Resource: source}
	}
	return out
}
