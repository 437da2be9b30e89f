package connect_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/emulator"
	"github.com/wovyr/wovyr/pkg/aws/connect"
	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/client"
)

// gateway is a stack of an HTTP API that asks for signatures (AWS_IAM), before a server.
func gateway(t *testing.T, cfg aws.Config, name, server string) {
	t.Helper()
	ref := func(id string) map[string]string { return map[string]string{"Ref": id} }
	text, err := json.Marshal(map[string]any{
		"Resources": map[string]any{
			"Api":   map[string]any{"Type": "AWS::ApiGatewayV2::Api", "Properties": map[string]any{"Name": name, "ProtocolType": "HTTP"}},
			"Stage": map[string]any{"Type": "AWS::ApiGatewayV2::Stage", "Properties": map[string]any{"ApiId": ref("Api"), "StageName": "$default", "AutoDeploy": true}},
			"Behind": map[string]any{"Type": "AWS::ApiGatewayV2::Integration", "Properties": map[string]any{
				"ApiId": ref("Api"), "IntegrationType": "HTTP_PROXY", "IntegrationMethod": "ANY", "IntegrationUri": server + "/{path}", "PayloadFormatVersion": "1.0"}},
			"Route": map[string]any{"Type": "AWS::ApiGatewayV2::Route", "Properties": map[string]any{
				"ApiId": ref("Api"), "RouteKey": "ANY /{path+}", "AuthorizationType": "AWS_IAM", "Target": map[string]any{"Fn::Join": []any{"/", []any{"integrations", ref("Behind")}}}}},
		},
		"Outputs": map[string]any{
			stack.OutputURL:  map[string]any{"Value": map[string]any{"Fn::GetAtt": []string{"Api", "ApiEndpoint"}}},
			stack.OutputAuth: map[string]any{"Value": connect.AuthIAM},
		},
	})
	require.NoError(t, err)
	service := cloudformation.NewFromConfig(cfg)
	_, err = service.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: aws.String(string(text))})
	require.NoError(t, err)
	wait := cloudformation.NewStackCreateCompleteWaiter(service, func(o *cloudformation.StackCreateCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 50*time.Millisecond, time.Second
	})
	require.NoError(t, wait.Wait(t.Context(), &cloudformation.DescribeStacksInput{StackName: &name}, time.Minute))
}

// TestGatewayKnowsWhoCalls goes through an API Gateway that checks signatures and rights: with the policy for callers of docs/deploy.md a call comes
// through, and what is refused says why.
func TestGatewayKnowsWhoCalls(t *testing.T) {
	cfg := emulator.Config(t)
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(client.Execution{ID: r.Method, Workflow: "order"})
	}))
	defer behind.Close()
	gateway(t, cfg, "wovyr", behind.URL)
	root, err := connect.Find(t.Context(), cfg, "wovyr")
	require.NoError(t, err)
	api, _, _ := strings.Cut(strings.SplitAfter(root.Outputs[stack.OutputURL], "://")[1], ".")
	policy := strings.ReplaceAll(policies(t, root.ARN.AccountID)[0], "a1b2c3d4", api)
	of := func(cfg aws.Config) *client.Client {
		s, err := connect.Find(t.Context(), cfg, "wovyr")
		require.NoError(t, err)
		c, err := s.Client("")
		require.NoError(t, err)
		return c
	}

	caller := person(t, cfg, "caller", policy)
	e, err := of(caller).Get(t.Context(), "k5f2")
	require.NoError(t, err)
	require.Equal(t, "GET", e.ID)
	e, err = of(caller).Start(t.Context(), client.StartRequest{Workflow: "order", Input: []byte(`{"id": "ä/1"}`)})
	require.NoError(t, err)
	require.Equal(t, "POST", e.ID)

	refused := func(cfg aws.Config, code string) *client.Problem {
		t.Helper()
		_, err := of(cfg).Get(t.Context(), "k5f2")
		var p *client.Problem
		require.ErrorAs(t, err, &p)
		require.Equal(t, code, p.Code)
		return p
	}
	p := refused(person(t, cfg, "onlooker", readStacks), connect.CodeDenied)
	require.Contains(t, p.Title, "user/onlooker may not call the API of stack wovyr")
	require.Contains(t, p.Detail, "execute-api:Invoke on arn:aws:execute-api:us-east-1:"+root.ARN.AccountID+":"+api+"/$default/GET/v1/executions/k5f2")

	reader := person(t, cfg, "reader", strings.ReplaceAll(policy, api+"/*", api+"/*/GET/*"))
	_, err = of(reader).Get(t.Context(), "k5f2")
	require.NoError(t, err)
	err = of(reader).Cancel(t.Context(), "k5f2", client.CancelRequest{})
	require.ErrorContains(t, err, "/POST/v1/executions/k5f2/cancel")

	s, err := connect.Find(t.Context(), caller, "wovyr")
	require.NoError(t, err)
	key, err := caller.Credentials.Retrieve(t.Context())
	require.NoError(t, err)
	s.Config.Credentials = credentials.NewStaticCredentialsProvider(key.AccessKeyID, "a wrong key", "")
	c, err := s.Client("")
	require.NoError(t, err)
	_, err = c.Get(t.Context(), "k5f2")
	var wrong *client.Problem
	require.ErrorAs(t, err, &wrong)
	require.Contains(t, []string{connect.CodeSignature, connect.CodeDenied}, wrong.Code) // an HTTP API says no more than Forbidden
}
