package connect_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/emulator"
	"github.com/wovyr/wovyr/pkg/aws/connect"
	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/client"
)

// The emulator checks signatures and rights here, as AWS does.
func TestMain(m *testing.M) {
	_ = os.Setenv("AUTH", "true")
	os.Exit(m.Run())
}

// make creates a CloudFormation stack with outputs.
func create(t *testing.T, cfg aws.Config, name string, outputs map[string]string) {
	t.Helper()
	out := map[string]any{}
	for key, value := range outputs { // order-free: a map again
		out[key] = map[string]string{"Value": value}
	}
	text, err := json.Marshal(map[string]any{"Resources": map[string]any{"Topic": map[string]string{"Type": "AWS::SNS::Topic"}}, "Outputs": out})
	require.NoError(t, err)
	service := cloudformation.NewFromConfig(cfg)
	_, err = service.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: aws.String(string(text))})
	require.NoError(t, err)
	wait := cloudformation.NewStackCreateCompleteWaiter(service, func(o *cloudformation.StackCreateCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 50*time.Millisecond, time.Second
	})
	require.NoError(t, wait.Wait(t.Context(), &cloudformation.DescribeStacksInput{StackName: &name}, time.Minute))
}

// person makes a user of an account with rights, and returns the configuration that it has.
func person(t *testing.T, cfg aws.Config, name, policy string) aws.Config {
	t.Helper()
	service := iam.NewFromConfig(cfg)
	_, err := service.CreateUser(t.Context(), &iam.CreateUserInput{UserName: &name})
	require.NoError(t, err)
	if policy != "" {
		_, err = service.PutUserPolicy(t.Context(), &iam.PutUserPolicyInput{UserName: &name, PolicyName: aws.String("p"), PolicyDocument: &policy})
		require.NoError(t, err)
	}
	key, err := service.CreateAccessKey(t.Context(), &iam.CreateAccessKeyInput{UserName: &name})
	require.NoError(t, err)
	cfg.Credentials = credentials.NewStaticCredentialsProvider(*key.AccessKey.AccessKeyId, *key.AccessKey.SecretAccessKey, "")
	return cfg
}

const readStacks = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"cloudformation:DescribeStacks","Resource":"*"}]}`

func TestFind(t *testing.T) {
	cfg := emulator.Config(t)
	url := map[string]string{stack.OutputURL: "https://a1b2c3d4.execute-api.us-east-1.amazonaws.com", stack.OutputAuth: "iam"}

	_, err := connect.Find(t.Context(), cfg, "wovyr")
	require.ErrorContains(t, err, "there is no stack wovyr in us-east-1, and none of Wovyr's at all")

	create(t, cfg, "orders", url)
	create(t, cfg, "billing", map[string]string{stack.OutputURL: "https://b1b2c3d4.execute-api.us-east-1.amazonaws.com/api", stack.OutputAuth: "jwt"})
	create(t, cfg, "other", map[string]string{"Elsewhere": "x"})

	s, err := connect.Find(t.Context(), cfg, "orders")
	require.NoError(t, err)
	require.Equal(t, "iam", s.Auth())
	require.Equal(t, "us-east-1", s.ARN.Region)
	require.Equal(t, *cfg.BaseEndpoint+"/_aws/execute-api/a1b2c3d4/$default", s.Server(), "no name of an API leads to an emulator")

	var unknown *connect.UnknownStackError
	_, err = connect.Find(t.Context(), cfg, "order")
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, []string{"billing", "orders"}, unknown.Known)
	require.EqualError(t, err, "there is no stack order in us-east-1. Stacks of Wovyr there: billing, orders")
	_, err = connect.Find(t.Context(), cfg, "other")
	require.EqualError(t, err, "stack other in us-east-1 is not Wovyr's: it has none of its outputs. Stacks of Wovyr there: billing, orders")

	s, err = connect.Find(t.Context(), cfg, "billing")
	require.NoError(t, err)
	require.Equal(t, *cfg.BaseEndpoint+"/restapis/b1b2c3d4/api/_user_request_", s.Server())
	_, err = s.Client("")
	require.ErrorIs(t, err, connect.ErrNoToken)
	c, err := s.Client("t-1")
	require.NoError(t, err)
	require.Equal(t, "t-1", c.Token)

	ann := person(t, cfg, "ann", readStacks)
	_, err = connect.Find(t.Context(), ann, "orders")
	require.NoError(t, err)
	bob := person(t, cfg, "bob", "")
	var denied *connect.DeniedError
	_, err = connect.Find(t.Context(), bob, "orders")
	require.ErrorAs(t, err, &denied)
	require.ErrorContains(t, err, "you lack the right cloudformation:DescribeStacks on ")
	require.ErrorContains(t, err, "user/bob", "AWS says who he is")

	key, err := ann.Credentials.Retrieve(t.Context())
	require.NoError(t, err)
	var bad *connect.CredentialsError
	ann.Credentials = credentials.NewStaticCredentialsProvider(key.AccessKeyID, "wrong", "")
	_, err = connect.Find(t.Context(), ann, "orders")
	require.ErrorAs(t, err, &bad)
	ann.Credentials = nil
	_, err = connect.Find(t.Context(), ann, "orders")
	require.ErrorAs(t, err, &bad)

	cfg.Region = ""
	_, err = connect.Find(t.Context(), cfg, "orders")
	require.ErrorIs(t, err, connect.ErrNoRegion)
	cfg.Region, cfg.BaseEndpoint = "us-east-1", aws.String("http://127.0.0.1:1")
	cfg.RetryMaxAttempts = 1
	_, err = connect.Find(t.Context(), cfg, "orders")
	require.ErrorIs(t, err, client.ErrUnreachable)
}

// TestFindUnfinished looks at a stack that is still being made.
func TestFindUnfinished(t *testing.T) {
	cfg := emulator.Config(t)
	name := "slow"
	_, err := cloudformation.NewFromConfig(cfg).CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: aws.String(
		`{"Resources":{"Handle":{"Type":"AWS::CloudFormation::WaitConditionHandle"},"Wait":{"Type":"AWS::CloudFormation::WaitCondition","Properties":{"Handle":{"Ref":"Handle"},"Timeout":"600"}}}}`)})
	require.NoError(t, err)
	_, err = connect.Find(t.Context(), cfg, name)
	var early *connect.NotReadyError
	require.ErrorAs(t, err, &early)
	require.EqualError(t, err, "stack slow has no API: it is in the state CREATE_IN_PROGRESS")
}

// refusals are answers of API Gateway, as it words them, and what callers are told.
func TestRefusalsAreExplained(t *testing.T) {
	now := time.Now()
	date := func(off time.Duration) http.Header {
		return http.Header{"Date": {now.Add(off).UTC().Format(http.TimeFormat)}}
	}
	with := func(h http.Header, name, value string) http.Header { h.Set(name, value); return h }
	for name, c := range map[string]struct {
		auth   string
		status int
		header http.Header
		body   string
		code   string
		says   []string
	}{
		"HTTP API, no right": {"iam", 403, date(0), `{"message":"Forbidden"}`, connect.CodeDenied,
			[]string{"execute-api:Invoke on arn:aws:execute-api:eu-north-1:111122223333:a1b2c3d4/$default/GET/v1/executions/x", "stack orders"}},
		"REST API, no right": {"iam", 403, with(date(0), "X-Amzn-Errortype", "AccessDeniedException"),
			`{"Message":"User: arn:aws:iam::111122223333:user/bob is not authorized to perform: execute-api:Invoke on resource: arn:aws:execute-api:eu-north-1:********3333:a1b2c3d4/api/GET/v1/executions/x"}`, connect.CodeDenied, []string{"execute-api:Invoke"}},
		"clock, said by the gateway":    {"iam", 403, date(0), `{"message":"Signature expired: 20260101T000000Z is now earlier than 20260101T001000Z (20260101T001500Z - 5 min.)"}`, connect.CodeClock, []string{"clock"}},
		"clock, seen by the date":       {"iam", 403, date(42 * time.Minute), `{"message":"Forbidden"}`, connect.CodeClock, []string{"42m behind"}},
		"clock ahead":                   {"iam", 403, date(-7 * time.Minute), `{"message":"Forbidden"}`, connect.CodeClock, []string{"7m ahead"}},
		"session over":                  {"iam", 403, with(date(0), "X-Amzn-Errortype", "ExpiredTokenException"), `{"message":"The security token included in the request is expired"}`, connect.CodeCredentials, []string{"sign in again"}},
		"keys unknown":                  {"iam", 403, with(date(0), "X-Amzn-Errortype", "UnrecognizedClientException"), `{"message":"The security token included in the request is invalid."}`, connect.CodeCredentials, []string{"does not know"}},
		"signature wrong":               {"iam", 403, with(date(0), "X-Amzn-Errortype", "InvalidSignatureException"), `{"message":"The request signature we calculated does not match the signature you provided."}`, connect.CodeSignature, []string{"secret key"}},
		"token wrong":                   {"jwt", 401, with(date(0), "WWW-Authenticate", `Bearer scope="" error="invalid_token" error_description="the token has expired"`), `{"message":"Unauthorized"}`, connect.CodeToken, []string{"the token has expired", "WOVYR_TOKEN"}},
		"token missing":                 {"jwt", 401, date(0), `{"message":"Unauthorized"}`, connect.CodeToken, []string{"Unauthorized"}},
		"too many":                      {"iam", 429, date(0), `{"message":"Too Many Requests"}`, connect.CodeThrottled, nil},
		"the function fell":             {"none", 500, date(0), `{"message":"Internal Server Error"}`, connect.CodeFunction, []string{"log of the function Api"}},
		"the function took too long":    {"none", 503, date(0), `{"message":"Service Unavailable"}`, connect.CodeFunction, nil},
		"ours stays":                    {"none", 403, with(date(0), "Content-Type", "application/problem+json"), `{"status":403,"code":"tenant","title":"your token names no tenant"}`, "tenant", []string{"names no tenant"}},
		"ours of the server stays":      {"none", 503, with(date(0), "Content-Type", "application/problem+json"), `{"status":503,"code":"store","title":"the store is away"}`, "store", nil},
		"what is not known stays as is": {"none", 418, date(0), `a teapot`, "http", []string{"a teapot"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for key, values := range c.header { // order-free: a map again
					w.Header()[key] = values
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			defer server.Close()
			s := &connect.Stack{Name: "orders", ARN: arn.ARN{Partition: "aws", Region: "eu-north-1", AccountID: "111122223333"},
				Outputs: map[string]string{stack.OutputURL: "https://a1b2c3d4.execute-api.eu-north-1.amazonaws.com", stack.OutputAuth: c.auth},
				Config:  aws.Config{Region: "eu-north-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", ""), RetryMaxAttempts: 1}}
			at, err := s.Client("t")
			require.NoError(t, err)
			_, err = at.Get(t.Context(), "x")
			var p *client.Problem
			require.ErrorAs(t, err, &p)
			require.Equal(t, c.code, p.Code)
			require.Equal(t, c.status, p.Status)
			for _, text := range c.says {
				require.ErrorContains(t, err, text)
			}
		})
	}
}

func TestClientOfAnUnknownAuth(t *testing.T) {
	s := &connect.Stack{Name: "orders", Outputs: map[string]string{stack.OutputURL: "https://a.example", stack.OutputAuth: "passkey"}}
	_, err := s.Client("")
	require.ErrorContains(t, err, `"passkey"`)
	require.False(t, errors.Is(err, connect.ErrNoToken))
	require.Equal(t, "https://a.example", s.Server(), "without an emulator it is the address itself")
	require.False(t, strings.Contains(s.Server(), "execute-api"))
}
