package rights

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/wovyr/wovyr/internal/awsproxy"
	"github.com/wovyr/wovyr/internal/iampolicy"
	"github.com/wovyr/wovyr/pkg/aws/stack"
)

// Role is what a function may do.
type Role struct {
	// Function is the ID of the function in the stack, such as Orchestrator; ARN is that of its role.
	Function, ARN string
	Policies      []iampolicy.Policy
	// PassedRole is the ARN of the role that the function hands on to EventBridge Scheduler; empty: none.
	PassedRole string
	// Sources are the ARNs of the queues and streams that Lambda reads for the function, as its role.
	Sources []string
}

// Deployed reads the roles of all functions of a stack that say who they are, by their IDs in the stack, as IAM has them.
func Deployed(ctx context.Context, cfg aws.Config, stackName string) (map[string]Role, error) {
	functions, err := awsproxy.Functions(ctx, cfg, stackName)
	if err != nil {
		return nil, err
	}
	client := lambda.NewFromConfig(cfg)
	out := map[string]Role{}
	for name, environment := range functions { // order-free: a map again
		c, err := client.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &name})
		if err != nil {
			return nil, fmt.Errorf("rights: function %s: %w", name, err)
		}
		r := Role{Function: environment[stack.EnvApplication], ARN: aws.ToString(c.Role), PassedRole: environment[stack.EnvSchedulerRole]}
		if r.Policies, err = policies(ctx, cfg, r.ARN); err != nil {
			return nil, fmt.Errorf("rights: role of %s: %w", r.Function, err)
		}
		sources := lambda.NewListEventSourceMappingsPaginator(client, &lambda.ListEventSourceMappingsInput{FunctionName: &name})
		for sources.HasMorePages() {
			page, err := sources.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("rights: sources of %s: %w", r.Function, err)
			}
			for _, m := range page.EventSourceMappings {
				r.Sources = append(r.Sources, aws.ToString(m.EventSourceArn))
			}
		}
		out[r.Function] = r
	}
	return out, nil
}

// secretsByName makes ARNs of the names that ministack puts into policies where AWS puts ARNs of secrets, and into the environment of functions.
func secretsByName(p iampolicy.Policy, role string) {
	for _, s := range p.Statements {
		for i, resource := range s.Resources {
			if resource != "*" && !strings.HasPrefix(resource, "arn:") {
				s.Resources[i] = PlaceOf(role, "*").arn("secretsmanager", "secret:"+resource+"-??????")
			}
		}
	}
}

// policies reads the policies of a role: those that stand in it, for the stack attaches none of AWS's own.
func policies(ctx context.Context, cfg aws.Config, role string) ([]iampolicy.Policy, error) {
	client, name := iam.NewFromConfig(cfg), aws.String(role[strings.LastIndexByte(role, '/')+1:])
	attached, err := client.ListAttachedRolePolicies(ctx, &iam.ListAttachedRolePoliciesInput{RoleName: name})
	if err != nil {
		return nil, err
	}
	if n := len(attached.AttachedPolicies); n > 0 {
		return nil, fmt.Errorf("%d policies are attached: a role has its own statements only", n)
	}
	list, err := client.ListRolePolicies(ctx, &iam.ListRolePoliciesInput{RoleName: name})
	if err != nil {
		return nil, err
	}
	var out []iampolicy.Policy
	for _, policy := range list.PolicyNames {
		got, err := client.GetRolePolicy(ctx, &iam.GetRolePolicyInput{RoleName: name, PolicyName: &policy})
		if err != nil {
			return nil, err
		}
		text := aws.ToString(got.PolicyDocument)
		if plain, err := url.PathUnescape(text); err == nil { // IAM sends it so
			text = plain
		}
		p, err := iampolicy.Parse([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("policy %s: %w", policy, err)
		}
		secretsByName(p, role)
		out = append(out, p)
	}
	return out, nil
}
