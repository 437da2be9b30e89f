// The AWS stack of the Wovyr Workflow Engine as a CDK app. `cdk deploy` at the root of the repository runs it; the README of this folder
// lists its options.
package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"

	"github.com/wovyr/wovyr/infra/cdk/wovyr"
)

func main() {
	defer jsii.Close()
	toRoot()
	app := awscdk.NewApp(nil)
	props := wovyr.PropsOf(app)
	stack := awscdk.NewStack(app, jsii.String(name(app)), &awscdk.StackProps{
		Description: jsii.String("Wovyr Workflow Engine: durable workflows"), Env: environment(), TerminationProtection: jsii.Bool(!props.Ephemeral)})
	w := wovyr.NewWovyr(stack, jsii.String("Wovyr"), &props)
	wovyr.SuppressNag(w)
	awscdk.Aspects_Of(app).Add(cdknag.NewAwsSolutionsChecks(nil), nil)
	app.Synth(nil)
}
