package chaos

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/awsproxy"
	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/client"
)

// deployment is the stack under test.
type deployment struct {
	cfg aws.Config
	// physical are the names of the stack's resources by their logical IDs, less the part that the construct's path adds.
	physical map[string]string
	// functions are the environments of the functions by their application IDs, names their names.
	functions map[string]map[string]string
	names     map[string]string
	api       *client.Client
	// wire connects to the emulator whatever the host is called.
	wire *http.Transport
}

func open(t *testing.T) *deployment {
	cfg, err := config.LoadDefaultConfig(t.Context())
	require.NoError(t, err)
	endpoint, err := url.Parse(os.Getenv("AWS_ENDPOINT_URL"))
	require.NoError(t, err)
	require.NotEmpty(t, endpoint.Host, "AWS_ENDPOINT_URL names no emulator: there is no other AWS to do this to")
	var dialer net.Dialer
	d := &deployment{cfg: cfg, physical: map[string]string{}, functions: map[string]map[string]string{}, names: map[string]string{},
		wire: &http.Transport{MaxIdleConnsPerHost: 32, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, endpoint.Host)
		}}}
	t.Cleanup(d.wire.CloseIdleConnections)
	functions, err := awsproxy.Functions(t.Context(), cfg, *name)
	require.NoError(t, err)
	for function, environment := range functions { // order-free: a map again
		d.functions[environment[stack.EnvApplication]] = environment
		d.names[environment[stack.EnvApplication]] = function
	}
	stacks := cloudformation.NewFromConfig(cfg)
	pages := cloudformation.NewListStackResourcesPaginator(stacks, &cloudformation.ListStackResourcesInput{StackName: name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		require.NoError(t, err)
		for _, r := range page.StackResourceSummaries {
			d.physical[aws.ToString(r.LogicalResourceId)] = aws.ToString(r.PhysicalResourceId)
		}
	}
	out, err := stacks.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: name})
	require.NoError(t, err)
	var address string
	for _, o := range out.Stacks[0].Outputs {
		if *o.OutputKey == stack.OutputURL {
			address = *o.OutputValue
		}
	}
	d.api = &client.Client{Server: local(t, address, endpoint), HTTP: &http.Client{Transport: d.wire}}
	return d
}

// local is where the emulator serves an API that has this address on AWS.
func local(t *testing.T, address string, endpoint *url.URL) string {
	u, err := url.Parse(address)
	require.NoError(t, err)
	if u.Port() == "" {
		id, _, _ := strings.Cut(u.Hostname(), ".")
		u.Scheme, u.Host = endpoint.Scheme, id+".execute-api.localhost:"+endpoint.Port()
	}
	return u.String()
}

// resource is the physical name of the resource whose logical ID begins so.
func (d *deployment) resource(t *testing.T, prefix string) string {
	for logical, physical := range d.physical { // order-free: one of them begins so
		if strings.HasPrefix(logical, prefix) {
			return physical
		}
	}
	require.Fail(t, "the stack has no "+prefix)
	return ""
}

// queues are the queues that functions take from, by name.
func (d *deployment) queues() map[string]string {
	e := d.functions["Activity"]
	return map[string]string{"inbox": e[stack.EnvInboxQueue], "timers": e[stack.EnvTimersQueue], "events": e[stack.EnvEventsQueue], "tasks": e[stack.EnvTasksQueue("default")]}
}

// invoke calls a function and decodes its answer. failed says that the function itself failed.
func (d *deployment) invoke(ctx context.Context, function string, event, answer any) (failed bool, err error) {
	payload, err := json.Marshal(event)
	if err != nil {
		return false, err
	}
	name := d.names[function]
	out, err := lambda.NewFromConfig(d.cfg).Invoke(ctx, &lambda.InvokeInput{FunctionName: &name, Payload: payload})
	if err != nil {
		return false, err
	}
	if out.FunctionError != nil {
		return true, nil
	}
	return false, json.Unmarshal(out.Payload, answer)
}
