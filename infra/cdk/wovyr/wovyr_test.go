package wovyr_test

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/infra/cdk/wovyr"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	code := m.Run()
	jsii.Close()
	os.Exit(code)
}

// code stands for the compiled functions, so that the template does not change with them.
func code(t *testing.T) wovyr.Code {
	dir := t.TempDir()
	for _, f := range []string{"api", "orchestrator", "activity", "timer", "publisher", "class"} {
		for _, arch := range []string{"arm64", "amd64"} {
			require.NoError(t, os.MkdirAll(filepath.Join(dir, arch, f), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, arch, f, "bootstrap"), []byte(f), 0o755))
		}
	}
	return wovyr.Folder{Dir: dir}
}

// template is a synthesized stack.
type template struct {
	Resources map[string]resource
	Outputs   map[string]json.RawMessage
}

type resource struct {
	Type                string
	Properties          map[string]any
	DeletionPolicy      string
	UpdateReplacePolicy string
}

// synth makes the template of a stack, and returns it with what cdk-nag finds wrong.
func synth(t *testing.T, props wovyr.Props) (template, []string) {
	app := awscdk.NewApp(nil)
	stack := awscdk.NewStack(app, jsii.String("test"), nil)
	w := wovyr.NewWovyr(stack, jsii.String("Wovyr"), &props)
	wovyr.SuppressNag(w)
	awscdk.Aspects_Of(app).Add(cdknag.NewAwsSolutionsChecks(nil), nil)
	var found []string
	for _, m := range *assertions.Annotations_FromStack(stack).FindError(jsii.String("*"), assertions.Match_StringLikeRegexp(jsii.String("AwsSolutions-.*"))) {
		text, err := json.Marshal(m.Entry.Data)
		require.NoError(t, err)
		found = append(found, *m.Id+": "+string(text))
	}
	text, err := json.Marshal(assertions.Template_FromStack(stack, nil).ToJSON())
	require.NoError(t, err)
	var out template
	require.NoError(t, json.Unmarshal(text, &out))
	return out, found
}

// of returns the resources of a type, by ID.
func (t template) of(kind string) map[string]resource {
	out := map[string]resource{}
	for id, r := range t.Resources {
		if r.Type == kind {
			out[id] = r
		}
	}
	return out
}

// one returns the only resource of a type whose ID begins so.
func (tpl template) one(t *testing.T, kind, prefix string) resource {
	var found []resource
	for id, r := range tpl.of(kind) {
		if regexp.MustCompile("^Wovyr" + prefix + "[0-9A-F]{8}$").MatchString(id) {
			found = append(found, r)
		}
	}
	require.Len(t, found, 1, "%s %s", kind, prefix)
	return found[0]
}

// golden compares with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, got, 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "write it with: go test ./wovyr -update")
	require.Equal(t, string(want), string(got), "the template changed: look at the difference, then go test ./wovyr -update")
}

// stateful are the kinds of resources that hold data, messages or addresses: a changed ID replaces them, and breaks what runs.
var stateful = regexp.MustCompile(`^AWS::(DynamoDB::Table|S3::Bucket|SQS::Queue|Events::EventBus|Scheduler::ScheduleGroup|SecretsManager::Secret|KMS::Key|ApiGatewayV2::Api|ApiGateway::RestApi|Lambda::Function|IAM::Role)$`)

// TestStack looks at one stack with all that a usual deployment has.
func TestStack(t *testing.T) {
	c := code(t)
	tpl, nag := synth(t, wovyr.Props{
		Code: c, InvokeFunctions: []string{"arn:aws:lambda:eu-north-1:111122223333:function:shop"}, ListenTo: []string{"aws.s3"},
		Classes: []wovyr.Class{{Name: "gpu-large", Functions: []string{"render.*"}, Code: c.Of("class", "arm64"), MaxConcurrency: 5}},
	})
	t.Run("no finding of cdk-nag is left unexplained", func(t *testing.T) { require.Empty(t, nag) })
	t.Run("golden template", func(t *testing.T) {
		text, err := json.MarshalIndent(tpl, "", " ")
		require.NoError(t, err)
		golden(t, "template.json", append(text, '\n'))
	})
	t.Run("IDs of what holds data never change", func(t *testing.T) {
		var ids []string
		for id, r := range tpl.Resources {
			if stateful.MatchString(r.Type) {
				ids = append(ids, id+" "+r.Type)
			}
		}
		slices.Sort(ids)
		golden(t, "ids.txt", []byte(strings.Join(ids, "\n")+"\n"))
	})
	t.Run("data stays when the stack is removed", func(t *testing.T) {
		for _, kind := range []string{"AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::SecretsManager::Secret", "AWS::SQS::Queue", "AWS::Scheduler::ScheduleGroup"} {
			require.NotEmpty(t, tpl.of(kind))
			for id, r := range tpl.of(kind) {
				require.Equal(t, "Retain", r.DeletionPolicy, id)
				require.Equal(t, "Retain", r.UpdateReplacePolicy, id)
			}
		}
	})
	t.Run("tables are paid by request, restorable, protected", func(t *testing.T) {
		require.Len(t, tpl.of("AWS::DynamoDB::Table"), 3)
		for id, r := range tpl.of("AWS::DynamoDB::Table") {
			require.Equal(t, "PAY_PER_REQUEST", r.Properties["BillingMode"], id)
			require.Equal(t, map[string]any{"PointInTimeRecoveryEnabled": true}, r.Properties["PointInTimeRecoverySpecification"], id)
			require.Equal(t, true, r.Properties["DeletionProtectionEnabled"], id)
		}
		require.Equal(t, map[string]any{"StreamViewType": "NEW_IMAGE"}, tpl.one(t, "AWS::DynamoDB::Table", "History").Properties["StreamSpecification"])
	})
	t.Run("buckets are private", func(t *testing.T) {
		for id, r := range tpl.of("AWS::S3::Bucket") {
			require.Equal(t, map[string]any{"BlockPublicAcls": true, "BlockPublicPolicy": true, "IgnorePublicAcls": true, "RestrictPublicBuckets": true}, r.Properties["PublicAccessBlockConfiguration"], id)
			require.Contains(t, r.Properties, "BucketEncryption", id)
		}
	})
	t.Run("queues", func(t *testing.T) { queues(t, tpl) })
	t.Run("mappings answer for each message", func(t *testing.T) {
		mappings := tpl.of("AWS::Lambda::EventSourceMapping")
		require.Len(t, mappings, 6) // inbox, timers, events, tasks, the class' tasks, the stream
		for id, r := range mappings {
			require.Equal(t, []any{"ReportBatchItemFailures"}, r.Properties["FunctionResponseTypes"], id)
			if r.Properties["StartingPosition"] != nil {
				require.Equal(t, true, r.Properties["BisectBatchOnFunctionError"])
				require.Contains(t, r.Properties, "DestinationConfig")
				require.Contains(t, r.Properties, "FilterCriteria")
			}
		}
	})
	t.Run("functions", func(t *testing.T) {
		functions := tpl.of("AWS::Lambda::Function")
		require.Len(t, functions, 6)
		for id, r := range functions {
			require.Equal(t, "provided.al2023", r.Properties["Runtime"], id)
			require.Equal(t, []any{"arm64"}, r.Properties["Architectures"], id)
			require.Contains(t, r.Properties, "LoggingConfig", id)
		}
	})
	t.Run("who may commit", func(t *testing.T) { rights(t, tpl) })
	t.Run("every alarm tells what to do", func(t *testing.T) {
		alarms := tpl.of("AWS::CloudWatch::Alarm")
		require.GreaterOrEqual(t, len(alarms), 25)
		for id, r := range alarms {
			require.Regexp(t, `[:?]`, r.Properties["AlarmDescription"], id)
		}
		for _, name := range []string{"Stuck", "PublisherBehind", "InboxDeadLetters", "TasksDeadLetters", "TasksGpuLargeDeadLetters", "UnpublishedA", "InboxOld", "TasksOld", "OrchestratorThrottles", "HistoryWriteThrottleEvents"} {
			require.True(t, slices.ContainsFunc(slices.Collect(maps.Keys(alarms)), func(id string) bool { return strings.HasPrefix(id, "Wovyr"+name) }), name)
		}
	})
	t.Run("logs end", func(t *testing.T) {
		require.Len(t, tpl.of("AWS::Logs::LogGroup"), 7)
		for id, r := range tpl.of("AWS::Logs::LogGroup") {
			require.EqualValues(t, 30, r.Properties["RetentionInDays"], id)
		}
	})
	t.Run("callers are asked who they are", func(t *testing.T) {
		for id, r := range tpl.of("AWS::ApiGatewayV2::Route") {
			want := "AWS_IAM"
			if key := r.Properties["RouteKey"]; key == "POST /v1/callbacks/{token}" || key == "POST /hooks/{path+}" {
				want = "NONE"
			}
			require.Equal(t, want, r.Properties["AuthorizationType"], id)
		}
	})
	t.Run("outputs that the command line reads", func(t *testing.T) {
		for _, name := range []string{"WovyrUrl", "WovyrAuth", "WovyrRegion", "WovyrBus", "WovyrHistoryTable", "WovyrIndexTable", "WovyrCatalogueTable", "WovyrPayloadBucket", "WovyrEventsQueue", "WovyrPublisherFunction"} {
			require.Contains(t, tpl.Outputs, name)
		}
	})
}

// queues hold messages for at least as long as their function may run, have dead letters, and refuse plain HTTP.
func queues(t *testing.T, tpl template) {
	timeouts := map[string]float64{}
	for id, r := range tpl.of("AWS::Lambda::Function") {
		timeouts[id] = r.Properties["Timeout"].(float64)
	}
	for id, m := range tpl.of("AWS::Lambda::EventSourceMapping") {
		source := m.Properties["EventSourceArn"].(map[string]any)["Fn::GetAtt"].([]any)
		if source[1] != "Arn" {
			continue // the stream
		}
		q := tpl.Resources[source[0].(string)]
		function := m.Properties["FunctionName"].(map[string]any)["Ref"].(string)
		require.GreaterOrEqual(t, q.Properties["VisibilityTimeout"], timeouts[function], id)
		require.Contains(t, q.Properties, "RedrivePolicy", id)
	}
	inbox := tpl.one(t, "AWS::SQS::Queue", "Inbox")
	require.Equal(t, true, inbox.Properties["FifoQueue"])
	require.Equal(t, "perMessageGroupId", inbox.Properties["FifoThroughputLimit"])
	require.Equal(t, "messageGroup", inbox.Properties["DeduplicationScope"])
	require.NotContains(t, inbox.Properties, "ContentBasedDeduplication") // a deduplication by content would swallow wake-ups
	for id, r := range tpl.of("AWS::SQS::Queue") {
		require.NotContains(t, r.Properties, "DelaySeconds", id)
	}
	require.Len(t, tpl.of("AWS::SQS::QueuePolicy"), len(tpl.of("AWS::SQS::Queue")))
}

// rights are least: the user's class writes no table, nobody may do everything, and only the activity function reads secrets.
func rights(t *testing.T, tpl template) {
	for id, r := range tpl.of("AWS::IAM::Policy") {
		for _, s := range r.Properties["PolicyDocument"].(map[string]any)["Statement"].([]any) {
			statement := s.(map[string]any)
			actions, many := statement["Action"].([]any)
			if !many {
				actions = []any{statement["Action"]}
			}
			for _, a := range actions {
				action := a.(string)
				require.NotContains(t, action, "*", "%s: %s", id, action)
				require.NotContains(t, []string{"dynamodb:Scan", "dynamodb:DeleteTable"}, action, id)
				if strings.HasPrefix(id, "WovyrClassGpuLarge") {
					if strings.HasPrefix(action, "dynamodb:") {
						require.Equal(t, map[string]any{"dynamodb:LeadingKeys": []any{"k/*"}}, statement["Condition"].(map[string]any)["ForAllValues:StringLike"], "a user's class may claim, and not touch a history: %s", action)
					}
					require.False(t, strings.HasPrefix(action, "scheduler:"), action)
				}
				if action == "secretsmanager:GetSecretValue" && statement["Sid"] == "Secrets" || action == "ssm:GetParameter" {
					require.Regexp(t, "^Wovyr(Activity|Api|ClassGpuLarge)", id)
				}
			}
		}
	}
}

// TestChoices looks at what single choices change.
func TestChoices(t *testing.T) {
	c := code(t)
	t.Run("ephemeral", func(t *testing.T) {
		tpl, _ := synth(t, wovyr.Props{Code: c, Ephemeral: true})
		for id, r := range tpl.of("AWS::DynamoDB::Table") {
			require.Equal(t, "Delete", r.DeletionPolicy, id)
		}
	})
	t.Run("customer key, x86, tokens of an issuer", func(t *testing.T) {
		tpl, nag := synth(t, wovyr.Props{Code: c, CustomerKey: true, Architecture: awslambda.Architecture_X86_64(),
			Auth: wovyr.Auth{JWT: &wovyr.JWT{Issuer: "https://issuer.example", Audience: []string{"wovyr"}, TenantClaim: "tenant"}}})
		require.Empty(t, nag)
		require.Len(t, tpl.of("AWS::KMS::Key"), 1)
		for id, r := range tpl.of("AWS::DynamoDB::Table") {
			require.Equal(t, "KMS", r.Properties["SSESpecification"].(map[string]any)["SSEType"], id)
		}
		for id, r := range tpl.of("AWS::SQS::Queue") {
			require.Contains(t, r.Properties, "KmsMasterKeyId", id)
		}
		for id, r := range tpl.of("AWS::Lambda::Function") {
			require.Equal(t, []any{"x86_64"}, r.Properties["Architectures"], id)
		}
		require.Len(t, tpl.of("AWS::ApiGatewayV2::Authorizer"), 1)
		for id, r := range tpl.of("AWS::Lambda::Function") { // all of them send tasks, fair between tenants
			require.Equal(t, "tenant", r.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)["WOVYR_TENANT_CLAIM"], id)
		}
	})
	t.Run("REST API, no dashboard", func(t *testing.T) {
		tpl, nag := synth(t, wovyr.Props{Code: c, API: wovyr.APIREST, NoDashboard: true})
		require.Empty(t, nag)
		require.Empty(t, tpl.of("AWS::CloudWatch::Dashboard"))
		require.Len(t, tpl.of("AWS::ApiGateway::RestApi"), 1)
		require.Empty(t, tpl.of("AWS::ApiGatewayV2::Api"))
		var open int
		for _, r := range tpl.of("AWS::ApiGateway::Method") {
			if r.Properties["AuthorizationType"] == "NONE" {
				open++
			}
		}
		require.Equal(t, 2, open, "callbacks and webhooks")
	})
	for name, props := range map[string]wovyr.Props{
		"API":                  {API: "soap"},
		"JWT with REST":        {API: wovyr.APIREST, Auth: wovyr.Auth{JWT: &wovyr.JWT{Issuer: "https://issuer.example"}}},
		"retention":            {Retention: time.Hour},
		"class name":           {Classes: []wovyr.Class{{Name: "GPU large", Functions: []string{"f"}, Code: c.Of("class", "arm64")}}},
		"class twice":          {Classes: []wovyr.Class{{Name: "default", Functions: []string{"f"}, Code: c.Of("class", "arm64")}}},
		"class sans functions": {Classes: []wovyr.Class{{Name: "gpu", Code: c.Of("class", "arm64")}}},
		"class sans code":      {Classes: []wovyr.Class{{Name: "gpu", Functions: []string{"f"}}}},
		"class of two codes":   {Classes: []wovyr.Class{{Name: "gpu", Functions: []string{"f"}, Main: "./gpu", Code: c.Of("class", "arm64")}}},
		"function pattern":     {Classes: []wovyr.Class{{Name: "gpu", Functions: []string{"a.*,b=*"}, Code: c.Of("class", "arm64")}}},
		"class too long":       {Classes: []wovyr.Class{{Name: "gpu", Functions: []string{"f"}, Code: c.Of("class", "arm64"), Timeout: time.Hour}}},
	} {
		t.Run("refused: "+name, func(t *testing.T) {
			props.Code = c
			require.Panics(t, func() { synth(t, props) })
		})
	}
}
