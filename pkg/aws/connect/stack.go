package connect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/client"
)

// Ways in which the API of a stack asks who calls (stack.OutputAuth).
const (
	AuthIAM  = "iam"  // requests signed by signature version 4
	AuthJWT  = "jwt"  // a bearer token of the issuer that the stack names
	AuthNone = "none" // nobody is asked: emulators only
)

// Stack is a deployment of Wovyr as its CloudFormation stack tells of it.
type Stack struct {
	Name string
	// ARN is that of the CloudFormation stack. It says the partition, region and account.
	ARN arn.ARN
	// Outputs are those of the stack, by the names of package stack.
	Outputs map[string]string
	// Config is the configuration of the AWS SDK by which the stack was found.
	Config aws.Config
}

// Load returns the configuration of the AWS SDK that the environment gives, as the AWS command line takes it: AWS_PROFILE, AWS_REGION, shared
// files, single sign-on, roles of machines. AWS_ENDPOINT_URL names an emulator.
func Load(ctx context.Context) (aws.Config, error) {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithLogger(logging.Nop{})) // what goes wrong is in the errors
	if err != nil {
		return cfg, fmt.Errorf("connect: configuration of AWS: %w", err)
	}
	return cfg, nil
}

// Find reads what a stack says of itself. Errors are ErrNoRegion, a *CredentialsError, a *DeniedError, an *UnknownStackError or a *NotReadyError,
// or client.ErrUnreachable where AWS does not answer.
func Find(ctx context.Context, cfg aws.Config, name string) (*Stack, error) {
	if cfg.Region == "" {
		return nil, ErrNoRegion
	}
	if cfg.Credentials == nil {
		return nil, &CredentialsError{}
	}
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return nil, &CredentialsError{Err: err}
	}
	service := cloudformation.NewFromConfig(cfg)
	out, err := service.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	if err == nil && len(out.Stacks) == 0 {
		err = &smithy.GenericAPIError{Code: "ValidationError", Message: name + " does not exist"}
	}
	if err != nil {
		return nil, findError(ctx, service, cfg, name, err)
	}
	found := out.Stacks[0]
	s := &Stack{Name: name, Outputs: outputsOf(found), Config: cfg}
	if s.ARN, err = arn.Parse(aws.ToString(found.StackId)); err != nil {
		return nil, fmt.Errorf("connect: stack %s: %w", name, err)
	}
	switch {
	case s.Outputs[stack.OutputURL] != "":
		return s, nil
	case strings.HasSuffix(string(found.StackStatus), "_IN_PROGRESS"), strings.Contains(string(found.StackStatus), "FAILED"), strings.Contains(string(found.StackStatus), "ROLLBACK"):
		return nil, &NotReadyError{Name: name, Status: string(found.StackStatus), Reason: aws.ToString(found.StackStatusReason)}
	}
	return nil, unknownStack(ctx, service, cfg, name, true)
}

func outputsOf(s types.Stack) map[string]string {
	out := map[string]string{}
	for _, o := range s.Outputs {
		out[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
	}
	return out
}

// findError says why a stack was not found.
func findError(ctx context.Context, service *cloudformation.Client, cfg aws.Config, name string, err error) error {
	var send *smithyhttp.RequestSendError
	var api smithy.APIError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &api):
		switch code := api.ErrorCode(); {
		case code == "ValidationError" && strings.Contains(api.ErrorMessage(), "does not exist"):
			return unknownStack(ctx, service, cfg, name, false)
		case strings.HasPrefix(code, "AccessDenied"):
			return &DeniedError{Action: "cloudformation:DescribeStacks", Resource: fmt.Sprintf("arn:aws:cloudformation:%s:*:stack/%s/*", cfg.Region, name), Said: api.ErrorMessage()}
		case slices.Contains(badCredentials, code):
			return &CredentialsError{Err: err}
		}
	case errors.As(err, &send):
		at := "AWS in " + cfg.Region
		if cfg.BaseEndpoint != nil {
			at = *cfg.BaseEndpoint
		}
		return fmt.Errorf("%w: to look for stack %s, %s was asked: %w", client.ErrUnreachable, name, at, send.Err)
	}
	return fmt.Errorf("connect: read stack %s: %w", name, err)
}

// badCredentials are the codes by which AWS says that credentials are no good.
var badCredentials = []string{"ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "UnrecognizedClientException", "SignatureDoesNotMatch", "InvalidSignatureException", "AuthFailure", "RequestExpired"}

// unknownStack names the stacks that could have been meant, as far as the caller may see them.
func unknownStack(ctx context.Context, service *cloudformation.Client, cfg aws.Config, name string, other bool) error {
	e := &UnknownStackError{Name: name, Region: cfg.Region, Other: other}
	pages := cloudformation.NewDescribeStacksPaginator(service, &cloudformation.DescribeStacksInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			e.Hidden = true
			return e
		}
		for _, s := range page.Stacks {
			if outputsOf(s)[stack.OutputURL] != "" {
				e.Known = append(e.Known, aws.ToString(s.StackName))
			}
		}
	}
	slices.Sort(e.Known)
	return e
}

// Auth is how the API asks who calls: AuthIAM, AuthJWT or AuthNone.
func (s *Stack) Auth() string { return s.Outputs[stack.OutputAuth] }

// Server is the address of the API. On an emulator it is a path below the emulator's own address, for the host's name of the API leads nowhere
// on most machines.
func (s *Stack) Server() string {
	address := s.Outputs[stack.OutputURL]
	u, err := url.Parse(address)
	if err != nil || s.Config.BaseEndpoint == nil {
		return address
	}
	id, _, _ := strings.Cut(u.Hostname(), ".")
	at := strings.TrimSuffix(*s.Config.BaseEndpoint, "/")
	if u.Path == "" || u.Path == "/" {
		return at + "/_aws/execute-api/" + id + "/" + defaultStage
	}
	return at + "/restapis/" + id + u.Path + "/_user_request_"
}

// defaultStage is the stage of an HTTP API that stands in no path.
const defaultStage = "$default"

// invokeARN is what a caller needs the right execute-api:Invoke on, for one request.
func (s *Stack) invokeARN(method, path string) string {
	u, err := url.Parse(s.Outputs[stack.OutputURL])
	if err != nil {
		return ""
	}
	id, _, _ := strings.Cut(u.Hostname(), ".")
	at := strings.Trim(u.Path, "/")
	if at == "" {
		at = defaultStage
	}
	return fmt.Sprintf("arn:%s:execute-api:%s:%s:%s/%s/%s%s", s.ARN.Partition, s.ARN.Region, s.ARN.AccountID, id, at, method, path)
}

// Client returns a client of the stack's API that says who calls. The token is needed where the API takes tokens (AuthJWT): without one it
// is ErrNoToken. Refusals of the API's gateway are told as a *client.Problem whose code begins with "aws.".
func (s *Stack) Client(token string) (*client.Client, error) {
	c := &client.Client{Server: s.Server()}
	next := http.RoundTripper(http.DefaultTransport)
	switch auth := s.Auth(); auth {
	case AuthIAM:
		next = &Signer{Credentials: s.Config.Credentials, Region: s.ARN.Region}
	case AuthJWT:
		if token == "" {
			return nil, fmt.Errorf("%w: stack %s", ErrNoToken, s.Name)
		}
		c.Token = token
	case AuthNone:
	default:
		return nil, fmt.Errorf("connect: stack %s lets callers in by %q, which this program does not know: is it older than the stack?", s.Name, auth)
	}
	c.HTTP = &http.Client{
		Transport:     &explainer{stack: s, next: next, now: time.Now},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // a signature is for one address
	}
	return c, nil
}
