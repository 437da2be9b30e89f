package wovyr_test

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/wovyr/wovyr/infra/cdk/wovyr"
)

// A deployment in an app of your own. It has no output: it compiles functions.
func ExampleNewWovyr() {
	app := awscdk.NewApp(nil)
	stack := awscdk.NewStack(app, jsii.String("orders"), nil)
	w := wovyr.NewWovyr(stack, jsii.String("Wovyr"), &wovyr.Props{ListenTo: []string{"aws.s3"}})
	w.Payloads.GrantRead(w.Functions["Api"], nil)
	app.Synth(nil)
}
