package awsproxy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/wovyr/wovyr/pkg/aws/stack"
)

// endpointVariable and the name of a service make the variable that names the service's endpoint. It goes before AWS_ENDPOINT_URL, which emulators set to themselves.
const endpointVariable = "AWS_ENDPOINT_URL_"

var endpoints = []string{"DYNAMODB", "SQS", "S3", "EVENTBRIDGE", "SCHEDULER", "LAMBDA", "SECRETS_MANAGER", "SSM"}

// Attach puts the proxy between the functions of a deployed stack and the emulator, and returns what takes it away again. Functions begin anew
// with it: their environment has changed. more are variables that they get beside their own.
func (p *Proxy) Attach(ctx context.Context, cfg aws.Config, stackName string, more map[string]string) (detach func(context.Context) error, err error) {
	functions, err := Functions(ctx, cfg, stackName)
	if err != nil {
		return nil, err
	}
	client := lambda.NewFromConfig(cfg)
	detach = func(ctx context.Context) error {
		var all []error
		for name, environment := range functions { // order-free: each for itself
			all = append(all, setEnvironment(ctx, client, name, environment))
		}
		return errors.Join(all...)
	}
	for name, environment := range functions { // order-free: each for itself
		through := maps.Clone(environment)
		maps.Copy(through, more)
		for _, service := range endpoints {
			through[endpointVariable+service] = p.URL
		}
		if err := setEnvironment(ctx, client, name, through); err != nil {
			return nil, errors.Join(err, detach(ctx))
		}
	}
	return detach, nil
}

// Functions returns the functions of a stack that say who they are, by name, each with its environment.
func Functions(ctx context.Context, cfg aws.Config, stackName string) (map[string]map[string]string, error) {
	client := lambda.NewFromConfig(cfg)
	out := map[string]map[string]string{}
	pages := cloudformation.NewListStackResourcesPaginator(cloudformation.NewFromConfig(cfg), &cloudformation.ListStackResourcesInput{StackName: &stackName})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("awsproxy: resources of the stack %s: %w", stackName, err)
		}
		for _, r := range page.StackResourceSummaries {
			if aws.ToString(r.ResourceType) != "AWS::Lambda::Function" {
				continue
			}
			c, err := client.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: r.PhysicalResourceId})
			if err != nil {
				return nil, fmt.Errorf("awsproxy: function %s: %w", aws.ToString(r.PhysicalResourceId), err)
			}
			if c.Environment != nil && c.Environment.Variables[stack.EnvApplication] != "" {
				for _, service := range endpoints { // of a proxy that ended before it was detached
					delete(c.Environment.Variables, endpointVariable+service)
				}
				out[*r.PhysicalResourceId] = c.Environment.Variables
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("awsproxy: no function of the stack %s has the variable %s: deploy it again", stackName, stack.EnvApplication)
	}
	return out, nil
}

func setEnvironment(ctx context.Context, client *lambda.Client, name string, environment map[string]string) error {
	_, err := client.UpdateFunctionConfiguration(ctx, &lambda.UpdateFunctionConfigurationInput{FunctionName: &name, Environment: &types.Environment{Variables: environment}})
	if err == nil {
		err = lambda.NewFunctionUpdatedV2Waiter(client).Wait(ctx, &lambda.GetFunctionInput{FunctionName: &name}, time.Minute)
	}
	if err != nil {
		return fmt.Errorf("awsproxy: environment of %s: %w", name, err)
	}
	return nil
}
