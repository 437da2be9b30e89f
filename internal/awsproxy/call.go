package awsproxy

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// Call is one thing that a function did to one resource. A request that names several is several calls.
type Call struct {
	// Function is the application ID of who called ("Orchestrator"); empty: somebody else, such as a test.
	Function string
	// Service is the one that the request was signed for: dynamodb, sqs, s3, events, scheduler, lambda, secretsmanager, ssm.
	Service string
	// Operation is the name of the API's operation, such as PutItem; of a transaction, those that its parts would be alone.
	Operation string
	// Resource is what was called, by the name that its ARN has after the service: a table (or table/NAME/index/NAME), a queue, a bucket, a
	// bucket/key, a bus, a schedule as group/name, a function (or its ARN), a secret (or its ARN), a parameter. Empty: none was named.
	Resource string
	// Key is the partition key of an item of DynamoDB.
	Key string
}

var (
	scope       = regexp.MustCompile(`Credential=[^/]+/\d+/[^/]+/([^/]+)/aws4_request`)
	application = regexp.MustCompile(`(?:^| )app/(\S+)`)
)

// read says what a request calls. One that is none of the SDK's is nil.
func read(r *http.Request, body []byte) []Call {
	signed := scope.FindStringSubmatch(r.Header.Get("Authorization"))
	if signed == nil {
		return nil
	}
	c := Call{Service: signed[1]}
	if a := application.FindStringSubmatch(r.Header.Get("User-Agent")); a != nil {
		c.Function = a[1]
	}
	if target := r.Header.Get("X-Amz-Target"); target != "" {
		_, c.Operation, _ = strings.Cut(target, ".")
	}
	switch c.Service {
	case "dynamodb":
		return c.items(body)
	case "events":
		return c.buses(body)
	case "s3":
		return []Call{c.object(r)}
	case "scheduler":
		c.Operation, c.Resource = "CreateSchedule", schedule(r, body)
		if r.Method != http.MethodPost {
			c.Operation = r.Method
		}
	case "lambda":
		c.Resource, c.Operation = function(r)
	case "sqs", "secretsmanager", "ssm":
		var in struct{ QueueUrl, SecretId, Name string }
		_ = json.Unmarshal(body, &in) // what cannot be read names nothing
		c.Resource = in.SecretId + in.Name + in.QueueUrl[strings.LastIndexByte(in.QueueUrl, '/')+1:]
	}
	return []Call{c}
}

// partition is the name of the attribute that all tables of the store have as their partition key.
const partition = "p"

type attribute struct{ S string }

// items are the calls of a request to DynamoDB: one for each item that it names.
func (c Call) items(body []byte) []Call {
	var in struct {
		TableName, IndexName      string
		Key, Item                 map[string]json.RawMessage
		KeyConditionExpression    string
		ExpressionAttributeValues map[string]json.RawMessage
		RequestItems              map[string]json.RawMessage
		TransactItems             []map[string]struct {
			TableName string
			Key, Item map[string]json.RawMessage
		}
	}
	_ = json.Unmarshal(body, &in)  // what cannot be read names nothing
	if len(in.TransactItems) > 0 { // to AWS, each is the call that it would be alone
		var out []Call
		for _, one := range in.TransactItems {
			for operation, i := range one { // order-free: it has one
				c.Operation, c.Resource, c.Key = operation+"Item", i.TableName, keyOf(i.Key)+keyOf(i.Item)
				out = append(out, c)
			}
		}
		return out
	}
	if len(in.RequestItems) == 0 {
		c.Resource, c.Key = in.TableName, keyOf(in.Key)+keyOf(in.Item)
		if in.IndexName != "" {
			c.Resource = in.TableName + "/index/" + in.IndexName
		} else if value, ok := strings.CutPrefix(in.KeyConditionExpression, partition+" = "); ok {
			value, _, _ = strings.Cut(value, " ")
			c.Key = textOf(in.ExpressionAttributeValues[value])
		}
		return []Call{c}
	}
	var out []Call
	for table, list := range in.RequestItems { // order-free: calls are counted
		c.Resource = table
		var get struct{ Keys []map[string]json.RawMessage }
		var write []struct {
			PutRequest    *struct{ Item map[string]json.RawMessage }
			DeleteRequest *struct{ Key map[string]json.RawMessage }
		}
		if json.Unmarshal(list, &get) == nil {
			for _, key := range get.Keys {
				c.Key = keyOf(key)
				out = append(out, c)
			}
			continue
		}
		_ = json.Unmarshal(list, &write)
		for _, w := range write {
			if w.PutRequest != nil {
				c.Key = keyOf(w.PutRequest.Item)
			} else if w.DeleteRequest != nil {
				c.Key = keyOf(w.DeleteRequest.Key)
			}
			out = append(out, c)
		}
	}
	return out
}

func keyOf(item map[string]json.RawMessage) string { return textOf(item[partition]) }

func textOf(value json.RawMessage) string {
	var a attribute
	_ = json.Unmarshal(value, &a) // a key of another type is none of ours
	return a.S
}

// buses are the calls of a request to EventBridge: one for each event.
func (c Call) buses(body []byte) []Call {
	var in struct {
		Entries []struct{ EventBusName string }
	}
	_ = json.Unmarshal(body, &in) // what cannot be read names nothing
	out := make([]Call, len(in.Entries))
	for i, e := range in.Entries {
		out[i] = c
		out[i].Resource = e.EventBusName
	}
	return out
}

// object is a call of S3, with the bucket in the path.
func (c Call) object(r *http.Request) Call {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	c.Resource = bucket
	query := r.URL.Query()
	if key != "" {
		c.Resource += "/" + key
	}
	switch {
	case r.Method == http.MethodPost && query.Has("delete"):
		c.Operation = "DeleteObjects"
	case r.Method == http.MethodPost && query.Has("uploads"):
		c.Operation = "CreateMultipartUpload"
	case r.Method == http.MethodPost && query.Has("uploadId"):
		c.Operation = "CompleteMultipartUpload"
	case r.Method == http.MethodPut && query.Has("partNumber"):
		c.Operation = "UploadPart"
	case r.Method == http.MethodDelete && query.Has("uploadId"):
		c.Operation = "AbortMultipartUpload"
	case r.Method == http.MethodPut && r.Header.Get("X-Amz-Copy-Source") != "":
		c.Operation = "CopyObject"
	case key == "" && r.Method == http.MethodGet:
		c.Operation = "ListObjectsV2"
	case key == "":
		c.Operation = r.Method[:1] + strings.ToLower(r.Method[1:]) + "Bucket"
	default: // GetObject, HeadObject, PutObject, DeleteObject
		c.Operation = r.Method[:1] + strings.ToLower(r.Method[1:]) + "Object"
	}
	return c
}

func schedule(r *http.Request, body []byte) string {
	var in struct{ GroupName string }
	_ = json.Unmarshal(body, &in) // what cannot be read is in the default group
	if in.GroupName == "" {
		in.GroupName = "default"
	}
	return in.GroupName + "/" + strings.TrimPrefix(r.URL.Path, "/schedules/")
}

// function is what a call of Lambda names, and its operation.
func function(r *http.Request) (name, operation string) {
	rest := strings.TrimPrefix(r.URL.EscapedPath(), "/2015-03-31/functions/")
	escaped, what, _ := strings.Cut(rest, "/")
	name, err := url.PathUnescape(escaped)
	if err != nil {
		name = escaped
	}
	switch {
	case what == "invocations":
		return name, "Invoke"
	case what == "configuration" && r.Method == http.MethodGet:
		return name, "GetFunctionConfiguration"
	}
	return name, r.Method + " " + what
}
