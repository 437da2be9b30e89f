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
	o := optionsOf(app)
	stack := awscdk.NewStack(app, jsii.String(o.stack), &awscdk.StackProps{
		Description: jsii.String("Wovyr Workflow Engine: durable workflows"), Env: o.environment(), TerminationProtection: jsii.Bool(!o.props.Ephemeral)})
	w := wovyr.NewWovyr(stack, jsii.String("Wovyr"), &o.props)
	wovyr.SuppressNag(w)
	awscdk.Aspects_Of(app).Add(cdknag.NewAwsSolutionsChecks(nil), nil)
	app.Synth(nil)
}
