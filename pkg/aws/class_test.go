package aws

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/emulator"
	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/eventstore"
	store "github.com/wovyr/wovyr/pkg/eventstore/dynamodb"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// right is one statement of a role in the template of the stack.
type right struct {
	actions []string
	// resource is the logical ID of what it is for, without its hash, or the text of an ARN.
	resource string
	// keys is what the partition keys must be like; empty: anything.
	keys string
}

// rightsOf reads the role of a function out of the stack's golden template, which a test there compares with what is deployed.
func rightsOf(t *testing.T, role string) []right {
	text, err := os.ReadFile("../../infra/cdk/wovyr/testdata/template.json")
	require.NoError(t, err)
	var template struct {
		Resources map[string]struct {
			Type       string
			Properties struct {
				PolicyDocument struct {
					Statement []struct {
						Effect    string
						Action    any
						Resource  any
						Condition map[string]map[string]any
					}
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &template))
	var out []right
	for id, r := range template.Resources { // order-free: a set of rights
		if r.Type != "AWS::IAM::Policy" || !strings.HasPrefix(id, role) {
			continue
		}
		for _, s := range r.Properties.PolicyDocument.Statement {
			require.Equal(t, "Allow", s.Effect)
			one := right{actions: texts(s.Action), resource: strings.Join(texts(s.Resource), "")}
			if list, ok := s.Condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]; ok {
				one.keys = strings.Join(texts(list), "")
			}
			out = append(out, one)
		}
	}
	require.NotEmpty(t, out, "the template has no role %s", role)
	return out
}

// texts are all words below a value of a template, in their order, but for the names of its functions.
func texts(v any) (out []string) {
	switch v := v.(type) {
	case string:
		out = append(out, v)
	case []any:
		for _, e := range v {
			out = append(out, texts(e)...)
		}
	case map[string]any:
		for _, e := range v { // order-free: functions of templates have one key
			out = append(out, texts(e)...)
		}
	}
	return out
}

// guard is middleware that refuses what a role does not allow, as AWS would.
type guard struct {
	rights []right
	// named says which part of the template a name of this test stands for.
	named map[string]string

	mu      sync.Mutex
	calls   map[string]int
	refused []string
}

// actionsOf are the rights that a call needs.
func actionsOf(service, operation string) []string {
	switch service + ":" + operation {
	case "SQS:SendMessageBatch":
		return []string{"sqs:SendMessage"}
	case "S3:HeadObject":
		return []string{"s3:GetObject"}
	case "S3:CopyObject":
		return []string{"s3:GetObject", "s3:PutObject"}
	case "S3:CreateMultipartUpload", "S3:UploadPart", "S3:CompleteMultipartUpload":
		return []string{"s3:PutObject"}
	case "S3:ListObjectsV2":
		return []string{"s3:ListBucket"}
	case "DynamoDB:TransactWriteItems":
		return []string{"dynamodb:PutItem", "dynamodb:ConditionCheckItem"}
	}
	return []string{strings.ToLower(strings.ReplaceAll(service, " ", "")) + ":" + operation}
}

// target is what a call is for, and the partition keys that it names.
func target(parameters any) (resource string, keys []string) {
	switch in := parameters.(type) {
	case *dynamodb.GetItemInput:
		return *in.TableName, []string{partition(in.Key)}
	case *dynamodb.PutItemInput:
		return *in.TableName, []string{partition(in.Item)}
	case *dynamodb.UpdateItemInput:
		return *in.TableName, []string{partition(in.Key)}
	case *dynamodb.QueryInput:
		return *in.TableName, []string{fmt.Sprint(in.ExpressionAttributeValues)}
	case *sqs.SendMessageBatchInput:
		return *in.QueueUrl, nil
	case *sqs.ChangeMessageVisibilityInput:
		return *in.QueueUrl, nil
	case *awss3.PutObjectInput:
		return *in.Bucket + "/" + *in.Key, nil
	case *awss3.GetObjectInput:
		return *in.Bucket + "/" + *in.Key, nil
	case *awss3.HeadObjectInput:
		return *in.Bucket + "/" + *in.Key, nil
	case *awss3.DeleteObjectInput:
		return *in.Bucket + "/" + *in.Key, nil
	case *awss3.CopyObjectInput:
		return *in.Bucket + "/" + *in.Key, nil
	case *awss3.CreateMultipartUploadInput:
		return *in.Bucket + "/" + *in.Key, nil
	case *awss3.UploadPartInput:
		return *in.Bucket + "/" + *in.Key, nil
	case *awss3.CompleteMultipartUploadInput:
		return *in.Bucket + "/" + *in.Key, nil
	case *awss3.ListObjectsV2Input:
		return *in.Bucket, nil
	case *secretsmanager.GetSecretValueInput:
		return ":secret:" + *in.SecretId, nil
	}
	return fmt.Sprintf("%T", parameters), nil
}

func partition(key map[string]types.AttributeValue) string {
	if p, ok := key[schema.Partition].(*types.AttributeValueMemberS); ok {
		return p.Value
	}
	return ""
}

// allows reports whether one of the rights covers an action on a resource.
func (g *guard) allows(action, resource string, keys []string) bool {
	for name, id := range g.named { // order-free: names do not begin with each other
		if rest, ok := strings.CutPrefix(resource, name); ok {
			resource = id + rest
		}
	}
	return slices.ContainsFunc(g.rights, func(r right) bool {
		if !slices.Contains(r.actions, action) || !covers(r.resource, resource) {
			return false
		}
		return r.keys == "" || len(keys) > 0 && !slices.ContainsFunc(keys, func(k string) bool { return !like(r.keys, k) })
	})
}

// covers compares the resource of a statement, with the hash of its logical ID and the word Arn in it, with one without.
func covers(stated, resource string) bool {
	if i := strings.Index(stated, ":secret:"); i >= 0 {
		return like(stated[i:], resource)
	}
	id, within, _ := strings.Cut(stated, "Arn")
	name, rest, deep := strings.Cut(resource, "/")
	if !strings.HasPrefix(id, name) || len(id) != len(name)+8 {
		return false
	}
	return deep == (within != "") && (!deep || like(strings.TrimPrefix(within, "/"), rest))
}

// like matches * as IAM does.
func like(pattern, text string) bool {
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(text, "/", "\x00"))
	return err == nil && ok
}

func (g *guard) options(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Rights", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
		middleware.InitializeOutput, middleware.Metadata, error) {
		service, operation := awsmiddleware.GetServiceID(ctx), middleware.GetOperationName(ctx)
		resource, keys := target(in.Parameters)
		for _, action := range actionsOf(service, operation) {
			ok := g.allows(action, resource, keys)
			g.mu.Lock()
			if g.calls[action]++; !ok {
				g.refused = append(g.refused, fmt.Sprintln(action, resource, keys))
			}
			g.mu.Unlock()
			if !ok {
				return middleware.InitializeOutput{}, middleware.Metadata{}, &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "not authorized to perform: " + action, Fault: smithy.FaultClient}
			}
		}
		return next.HandleInitialize(ctx, in)
	}), middleware.After)
}

// account is the parts of a deployment on the emulator: queues with event source mappings, tables and a bucket.
type account struct {
	t      *testing.T
	cfg    sdk.Config
	config Config
	engine *Platform
}

// class is a worker class of the account's user, "inventory".
const class = "inventory"

func newAccount(t *testing.T) *account {
	cfg := emulator.Config(t)
	a := &account{t: t, cfg: cfg}
	client := sqs.NewFromConfig(cfg)
	tables := store.TablesOf("class-")
	require.NoError(t, tables.Create(t.Context(), dynamodb.NewFromConfig(cfg)))
	_, err := awss3.NewFromConfig(cfg, func(o *awss3.Options) { o.UsePathStyle = true }).CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: sdk.String("payloads")})
	require.NoError(t, err)
	const hidden = time.Minute
	key, err := secretsmanager.NewFromConfig(cfg).CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: sdk.String("token-key"), SecretString: sdk.String(strings.Repeat("k", 64))})
	require.NoError(t, err)
	a.config = Config{HistoryTable: tables.History, CatalogueTable: tables.Catalogue, IndexTable: tables.Index, PayloadBucket: "payloads", ArchiveBucket: "archive",
		InboxQueue: newQueue(t, client, "inbox", true, hidden), TimersQueue: newQueue(t, client, "timers", false, hidden), TimersQueueARN: "arn:aws:sqs:us-east-1:000000000000:timers",
		TasksQueues:    map[string]string{worker.DefaultClass: newQueue(t, client, "tasks", false, hidden), class: newQueue(t, client, "tasks-inventory", false, hidden)},
		SchedulerGroup: "default", SchedulerRole: "arn:aws:iam::000000000000:role/timers", Routes: []stack.Route{{Functions: "inventory.*", Class: class}}, Class: worker.DefaultClass, Commits: true,
		TokenKey: *key.ARN, URL: "https://api.example", Tenant: "default", SecretsPrefix: "wovyr/"}
	a.engine = a.open(a.cfg, a.config, nil)
	poll(t, 1, mapping{client, a.config.InboxQueue, stack.InboxBatch, a.engine.Orchestrator}, mapping{client, a.config.TasksQueues[worker.DefaultClass], stack.TasksBatch, a.engine.Activity},
		mapping{client, a.config.TimersQueue, stack.TimersBatch, timerOf(a.engine)})
	return a
}

func (a *account) open(cfg sdk.Config, c Config, kinds *activity.Registry) *Platform {
	p, err := New(a.t.Context(), c, Options{SDK: &cfg, Activities: kinds, Log: slog.New(slog.DiscardHandler)})
	require.NoError(a.t, err)
	p.metrics = newMetrics(io.Discard, "")
	p.Worker.Limits.Lease, p.Worker.Limits.Retry = 3*time.Second, time.Second
	return p
}

// worker lets a function of the class work, under a guard of its rights, with what the stack tells such a function and nothing else.
func (a *account) worker(functions ...activity.Function) (*Platform, *guard) {
	kinds := activity.NewRegistry()
	require.NoError(a.t, kinds.Functions.Add(functions...))
	g := &guard{rights: rightsOf(a.t, "WovyrClassGpuLarge"), calls: map[string]int{}, named: map[string]string{
		a.config.HistoryTable: "WovyrHistory", a.config.CatalogueTable: "WovyrCatalogue", a.config.IndexTable: "WovyrIndex", a.config.PayloadBucket: "WovyrPayloads",
		a.config.InboxQueue: "WovyrInbox", a.config.TasksQueues[class]: "WovyrTasksGpuLarge"}}
	cfg := a.cfg.Copy()
	cfg.APIOptions = append(slices.Clone(cfg.APIOptions), g.options)
	own := Config{HistoryTable: a.config.HistoryTable, PayloadBucket: a.config.PayloadBucket, InboxQueue: a.config.InboxQueue, TasksQueues: map[string]string{class: a.config.TasksQueues[class]},
		Class: class, Tenant: a.config.Tenant, SecretsPrefix: a.config.SecretsPrefix, URL: a.config.URL}
	return a.open(cfg, own, kinds), g
}

// run starts a workflow and waits for its end.
func (a *account) run(text, input string) *worker.Snapshot {
	s := a.start(text, input, nil)
	var end *worker.Snapshot
	a.until("the execution ends", func() bool {
		var err error
		end, err = a.engine.Worker.Inspect(a.t.Context(), s)
		require.NoError(a.t, err)
		return end.State.Status.Terminal()
	})
	return end
}

// start starts a workflow; before, if it is not nil, is called first.
func (a *account) start(text, input string, before func(s eventstore.Stream)) eventstore.Stream {
	def, diagnostics := dsl.Compile("class.yaml", []byte("dsl: wovyr/v1\n"+text))
	require.NotNil(a.t, def, "%v", diagnostics)
	_, _, err := a.engine.Worker.Deploy(a.t.Context(), "default", def)
	require.NoError(a.t, err)
	request := worker.StartRequest{Tenant: "default", Workflow: def.Name, Key: "once", Input: workflow.Value(input)}
	if before != nil {
		before(eventstore.Stream{Tenant: "default", ID: a.engine.Worker.ExecutionID(request)})
	}
	started, err := a.engine.Worker.Start(a.t.Context(), request)
	require.NoError(a.t, err)
	return eventstore.Stream{Tenant: "default", ID: started.Execution}
}

// until looks again and again.
func (a *account) until(what string, look func() bool) {
	a.t.Helper()
	over := time.NewTimer(2 * time.Minute)
	defer over.Stop()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for !look() {
		select {
		case <-over.C:
			require.Fail(a.t, "it did not happen: "+what)
		case <-again.C:
		}
	}
}

// TestAClassNeedsItsRightsOnly runs every sort of attempt in a function of a user's class, under the rights that the stack gives to one: what is not
// allowed is refused, as by AWS. In the end each right was needed.
func TestAClassNeedsItsRightsOnly(t *testing.T) {
	t.Parallel() // real time is mostly waiting
	a := newAccount(t)
	_, err := secretsmanager.NewFromConfig(a.cfg).CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: sdk.String("wovyr/depot"), SecretString: sdk.String("hush-hush-hush")})
	require.NoError(t, err)
	running, callbacks := make(chan struct{}, 1), make(chan string, 1)
	tries := map[string]int{}
	p, g := a.worker(
		activity.Func("inventory.echo", func(_ context.Context, in any) (any, error) { return in, nil }),
		activity.Func("inventory.stream", func(_ context.Context, in struct{ Bytes int }) (string, error) {
			return strings.Repeat("s", in.Bytes), nil
		}),
		activity.Func("inventory.fail", func(context.Context, any) (any, error) { return nil, activity.NewError("sold.out", "none left") }),
		activity.Func("inventory.panic", func(context.Context, any) (any, error) { panic("oh") }),
		activity.Func("inventory.flaky", func(ctx context.Context, _ any) (int, error) {
			key := activity.Info(ctx).IdempotencyKey
			if tries[key]++; tries[key] < 3 {
				return 0, activity.Unavailable("depot.away", "no answer")
			}
			return tries[key], nil
		}),
		activity.Func("inventory.long", func(ctx context.Context, in struct{ Seconds int }) (string, error) {
			wait := time.NewTimer(time.Duration(in.Seconds) * time.Second)
			defer wait.Stop()
			select {
			case running <- struct{}{}:
			default:
			}
			select {
			case <-wait.C:
				return "done", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}),
		activity.Func("inventory.later", func(_ context.Context, in struct{ URL, Token string }) (any, error) {
			callbacks <- in.URL + " " + in.Token
			return nil, nil
		}),
	)
	poll(t, 2, mapping{sqs.NewFromConfig(a.cfg), a.config.TasksQueues[class], stack.TasksBatch, p.Activity})

	large := strings.Repeat("x", 300<<10)
	for _, test := range []struct{ name, text, input, outcome, output string }{
		{"small", "steps:\n  a: { function: inventory.echo, with: { n: 1 } }\noutput: '${ steps.a.output }'", `{}`, "completed", `{"n":1}`},
		{"two in a row", "steps:\n  a: { function: inventory.echo, with: { n: 1 } }\n  b: { function: inventory.echo, with: '${ steps.a.output }' }\noutput: '${ steps.b.output.n }'", `{}`, "completed", `1`},
		{"idempotent", "steps:\n  a: { function: inventory.echo, with: { n: 2 }, idempotent: true }\noutput: '${ steps.a.output.n }'", `{}`, "completed", `2`},
		{"an input of 8 KB", "input: { schema: { type: object, properties: { t: { type: string } } } }\nsteps:\n  a: { function: inventory.echo, with: { t: '${ input.t }' } }\noutput: '${ size(steps.a.output.t) }'",
			`{"t":"` + large[:8<<10] + `"}`, "completed", `8192`},
		{"an input of 300 KB", "input: { schema: { type: object, properties: { t: { type: string } } } }\nsteps:\n  a: { function: inventory.echo, with: { t: '${ input.t }' } }",
			`{"t":"` + large + `"}`, "completed", ``},
		{"an output of 6 MB", "steps:\n  a: { function: inventory.stream, with: { bytes: 6291456 } }", `{}`, "completed", ``},
		{"a secret", "steps:\n  a: { function: inventory.echo, with: { s: '${ secrets.depot }' } }\noutput: '${ steps.a.output.s }'", `{}`, "completed", `"[secret:depot]"`},
		{"an error", "steps:\n  a: { function: inventory.fail }", `{}`, "failed", ``},
		{"a panic", "steps:\n  a: { function: inventory.panic }", `{}`, "failed", ``},
		{"retried", "steps:\n  a: { function: inventory.flaky, retry: { attempts: 5, delay: 1s } }\noutput: '${ steps.a.output }'", `{}`, "completed", `3`},
		{"longer than its lease", "steps:\n  a: { function: inventory.long, with: { seconds: 7 } }\noutput: '${ steps.a.output }'", `{}`, "completed", `"done"`},
		{"longer than its timeout", "steps:\n  a: { function: inventory.long, with: { seconds: 60 }, timeout: 2s }", `{}`, "failed", ``},
	} {
		t.Run(test.name, func(t *testing.T) {
			end := a.run("name: "+strings.ReplaceAll(test.name, " ", "-")+"\n"+test.text, test.input)
			require.Equal(t, test.outcome, worker.Outcome(end.State), "%v", end.State.Error)
			if test.output != "" {
				require.JSONEq(t, test.output, string(end.State.Output.JSON))
			}
		})
	}
	t.Run("a callback", func(t *testing.T) {
		s := a.start("name: callback\nsteps:\n  a: { function: inventory.later, callback: true, with: { url: '${ callback.url }', token: '${ callback.token }' } }", `{}`, nil)
		url, token, _ := strings.Cut(<-callbacks, " ")
		require.Equal(t, worker.CallbackAddress("https://api.example", token), url)
		at, ref, err := worker.Tokens{Key: []byte(strings.Repeat("k", 64))}.Check(token)
		require.NoError(t, err)
		require.Equal(t, s, at)
		require.Equal(t, "a", ref.Step)
	})
	t.Run("cancelled while it runs", func(t *testing.T) {
		for len(running) > 0 {
			<-running
		}
		s := a.start("name: cancel\nsteps:\n  a: { function: inventory.long, with: { seconds: 100 } }", `{}`, nil)
		<-running
		require.NoError(t, a.engine.inbox.Send(t.Context(), worker.Message{ID: "c", Stream: s, Input: workflow.Cancel{ID: "c", Origin: workflow.OriginUser, Mode: workflow.CancelImmediate}}))
		a.until("its function stops and gives the task back", func() bool {
			out, err := sqs.NewFromConfig(a.cfg).GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: sdk.String(a.config.TasksQueues[class]), AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameAll}})
			require.NoError(t, err)
			return out.Attributes["ApproximateNumberOfMessages"] == "0" && out.Attributes["ApproximateNumberOfMessagesNotVisible"] == "0"
		})
	})
	t.Run("its function is killed", func(t *testing.T) {
		s := a.start("name: killed\nsteps:\n  a: { function: inventory.echo }", `{}`, func(s eventstore.Stream) {
			now := a.engine.Worker.Clock.Now()
			_, err := a.engine.Store.Claim(t.Context(), eventstore.ClaimKey{Stream: s, Attempt: "a", Fence: 1}, eventstore.Claim{Owner: "who died", Started: now, Until: now + int64(3*time.Second)})
			require.NoError(t, err)
		})
		a.until("another attempt completes", func() bool {
			end, err := a.engine.Worker.Inspect(t.Context(), s)
			require.NoError(t, err)
			return worker.Outcome(end.State) == "completed"
		})
	})
	g.mu.Lock()
	defer g.mu.Unlock()
	require.Empty(t, g.refused, "a function of a class did what its role forbids")
	for _, r := range g.rights {
		for _, action := range r.actions {
			if used := g.calls[action] > 0; !used {
				require.Contains(t, spare, action, "the role allows what no attempt needs")
			}
		}
	}
}

// spare are rights of a class that no attempt here needs, with the reason.
var spare = map[string]string{
	"logs:CreateLogStream": "the runtime's", "logs:PutLogEvents": "the runtime's",
	"sqs:ReceiveMessage": "the mapping's", "sqs:DeleteMessage": "the mapping's", "sqs:GetQueueAttributes": "the mapping's", "sqs:GetQueueUrl": "the mapping's",
	"s3:AbortMultipartUpload": "after a fault", "ssm:GetParameter": "where Secrets Manager has no such secret",
}
