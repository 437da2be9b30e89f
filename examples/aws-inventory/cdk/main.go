// The shop as a CDK app: Wovyr with a worker class of our own, and a function in Python that workflows call.
package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"github.com/wovyr/wovyr/infra/cdk/wovyr"
)

func main() {
	defer jsii.Close()
	app := awscdk.NewApp(nil)
	stack := awscdk.NewStack(app, jsii.String("shop"), nil)
	price := awslambda.NewFunction(stack, jsii.String("Price"), &awslambda.FunctionProps{
		Runtime: awslambda.Runtime_PYTHON_3_13(), Handler: jsii.String("price.handler"), Code: awslambda.Code_FromAsset(jsii.String("price"), nil)})
	awscdk.NewCfnOutput(stack, jsii.String("PriceArn"), &awscdk.CfnOutputProps{Value: price.FunctionArn()})

	props := wovyr.PropsOf(app)
	props.Classes = []wovyr.Class{{Name: "inventory", Functions: []string{"inventory.*"}, Main: "./inventory"}}
	props.InvokeFunctions = []string{*price.FunctionArn()}
	wovyr.NewWovyr(stack, jsii.String("Wovyr"), &props)
	app.Synth(nil)
}
