package wovyr

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2authorizers"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"github.com/wovyr/wovyr/pkg/aws/stack"
)

// open are the routes whose requests prove themselves: by a signed token in the path, or by a signature that the workflow's trigger names.
var open = []string{"/v1/callbacks/{token}", "/hooks/{path+}"}

// stage is the stage of a REST API. Its name is fixed, so that functions can know the address before the stage is there.
const stage = "api"

// gateway makes the API and its function. The function's own address is part of its environment, so the API comes first.
func (w *Wovyr) gateway() awslambda.Function {
	logs := awslogs.NewLogGroup(w.Construct, jsii.String("AccessLogs"), &awslogs.LogGroupProps{
		Retention: w.props.LogRetention, EncryptionKey: keyOrNil(w.Key), RemovalPolicy: awscdk.RemovalPolicy_DESTROY})
	if w.props.API == APIREST {
		return w.restAPI(logs)
	}
	return w.httpAPI(logs)
}

func (w *Wovyr) apiFunction() awslambda.Function {
	env := map[string]string{stack.EnvTimeouts: w.timeouts(), stack.EnvInvoke: strings.Join(w.props.InvokeFunctions, ",")} // what a deployed workflow is checked against
	f := w.function(functionSpec{
		id: "Api", description: "Wovyr: the HTTP API", code: w.own("api"), memory: 512, timeout: stack.APITimeout, environment: w.environment(env),
	})
	w.engineRights(f)
	w.mayDefine(f)
	w.mayList(f)
	w.mayUseSecrets(f) // those that webhooks are verified by
	return f
}

func (w *Wovyr) httpAPI(logs awslogs.LogGroup) awslambda.Function {
	api := awsapigatewayv2.NewHttpApi(w.Construct, jsii.String("HttpApi"), &awsapigatewayv2.HttpApiProps{
		ApiName: jsii.String(*awscdk.Stack_Of(w.Construct).StackName() + "-wovyr"), Description: jsii.String("The API of the Wovyr Workflow Engine"), CreateDefaultStage: jsii.Bool(false)})
	w.URL = jsii.String(*api.ApiEndpoint())
	f := w.apiFunction()
	stage := awsapigatewayv2.NewHttpStage(w.Construct, jsii.String("HttpStage"), &awsapigatewayv2.HttpStageProps{
		HttpApi: api, StageName: jsii.String("$default"), AutoDeploy: jsii.Bool(true),
		Throttle: &awsapigatewayv2.ThrottleSettings{RateLimit: jsii.Number(1000), BurstLimit: jsii.Number(2000)},
	})
	stage.Node().DefaultChild().(awsapigatewayv2.CfnStage).SetAccessLogSettings(&awsapigatewayv2.CfnStage_AccessLogSettingsProperty{
		DestinationArn: logs.LogGroupArn(), Format: awsapigateway.AccessLogFormat_JsonWithStandardFields(nil).ToString()})
	integration := awsapigatewayv2integrations.NewHttpLambdaIntegration(jsii.String("HttpToApi"), f, nil)
	add := func(path string, a awsapigatewayv2.IHttpRouteAuthorizer, methods ...awsapigatewayv2.HttpMethod) {
		api.AddRoutes(&awsapigatewayv2.AddRoutesOptions{Path: jsii.String(path), Methods: &methods, Integration: integration, Authorizer: a})
	}
	add("/{path+}", w.authorizer(), awsapigatewayv2.HttpMethod_ANY)
	for _, path := range open {
		add(path, awsapigatewayv2.NewHttpNoneAuthorizer(), awsapigatewayv2.HttpMethod_POST)
	}
	return f
}

func (w *Wovyr) authorizer() awsapigatewayv2.IHttpRouteAuthorizer {
	switch j := w.props.Auth.JWT; {
	case w.props.Auth.None:
		return awsapigatewayv2.NewHttpNoneAuthorizer()
	case j != nil:
		return awsapigatewayv2authorizers.NewHttpJwtAuthorizer(jsii.String("Jwt"), jsii.String(j.Issuer), &awsapigatewayv2authorizers.HttpJwtAuthorizerProps{JwtAudience: jsii.Strings(j.Audience...)})
	}
	return awsapigatewayv2authorizers.NewHttpIamAuthorizer()
}

func (w *Wovyr) restAPI(logs awslogs.LogGroup) awslambda.Function {
	s := awscdk.Stack_Of(w.Construct)
	auth := awsapigateway.AuthorizationType_IAM
	if w.props.Auth.None {
		auth = awsapigateway.AuthorizationType_NONE
	}
	api := awsapigateway.NewRestApi(w.Construct, jsii.String("RestApi"), &awsapigateway.RestApiProps{
		RestApiName: jsii.String(*s.StackName() + "-wovyr"), Description: jsii.String("The API of the Wovyr Workflow Engine"), CloudWatchRole: jsii.Bool(false),
		DeployOptions: &awsapigateway.StageOptions{StageName: jsii.String(stage), ThrottlingRateLimit: jsii.Number(1000), ThrottlingBurstLimit: jsii.Number(2000),
			AccessLogDestination: awsapigateway.NewLogGroupLogDestination(logs), AccessLogFormat: awsapigateway.AccessLogFormat_JsonWithStandardFields(nil)},
		DefaultMethodOptions: &awsapigateway.MethodOptions{AuthorizationType: auth},
	})
	w.URL = jsii.String("https://" + *api.RestApiId() + ".execute-api." + *s.Region() + "." + *s.UrlSuffix() + "/" + stage)
	f := w.apiFunction()
	integration := awsapigateway.NewLambdaIntegration(f, &awsapigateway.LambdaIntegrationOptions{Proxy: jsii.Bool(true)})
	api.Root().AddResource(jsii.String("{path+}"), nil).AddMethod(jsii.String("ANY"), integration, nil)
	for _, path := range open {
		at := api.Root()
		for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
			if next := at.GetResource(jsii.String(part)); next != nil {
				at = next
			} else {
				at = at.AddResource(jsii.String(part), nil)
			}
		}
		at.AddMethod(jsii.String("POST"), integration, &awsapigateway.MethodOptions{AuthorizationType: awsapigateway.AuthorizationType_NONE})
	}
	// A resource of its own for a part of a path hides the rest of that part, so what is beside the open routes needs its method too.
	api.Root().ResourceForPath(jsii.String("/v1/{path+}")).AddMethod(jsii.String("ANY"), integration, nil)
	return f
}
