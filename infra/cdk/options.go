package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"github.com/wovyr/wovyr/infra/cdk/wovyr"
)

// options are what `cdk deploy -c name=value` says.
type options struct {
	stack string
	props wovyr.Props
}

// optionsOf reads the options, and panics at one that is wrong: CDK shows the message.
func optionsOf(app awscdk.App) options {
	o := options{stack: "wovyr"}
	text := func(name string) string {
		v := app.Node().TryGetContext(jsii.String(name))
		if v == nil {
			return ""
		}
		return fmt.Sprint(v)
	}
	list := func(name string) []string {
		if text(name) == "" {
			return nil
		}
		return strings.Split(text(name), ",")
	}
	if s := text("stack"); s != "" {
		o.stack = s
	}
	o.props = wovyr.Props{
		API: wovyr.API(text("api")), Tenant: text("tenant"), Ephemeral: text("ephemeral") == "true", CustomerKey: text("customerKey") == "true",
		SecretsPrefix: text("secretsPrefix"), InvokeFunctions: list("invokeFunctions"), ListenTo: list("listenTo"), EgressAllow: list("egressAllow"), LogLevel: text("logLevel"),
		NoDashboard: text("dashboard") == "false",
	}
	switch text("architecture") {
	case "", "arm64":
	case "x86_64":
		o.props.Architecture = awslambda.Architecture_X86_64()
	default:
		panic("wovyr: -c architecture= takes arm64 or x86_64")
	}
	switch auth := text("auth"); auth {
	case "", "iam":
	case "none":
		o.props.Auth.None = true
	case "jwt":
		o.props.Auth.JWT = &wovyr.JWT{Issuer: text("issuer"), Audience: list("audience"), TenantClaim: text("tenantClaim")}
		if o.props.Auth.JWT.Issuer == "" || len(o.props.Auth.JWT.Audience) == 0 {
			panic("wovyr: -c auth=jwt needs -c issuer=https://… and -c audience=…")
		}
	default:
		panic(fmt.Sprintf("wovyr: -c auth=%s: it takes iam, jwt or none", auth))
	}
	if r := text("retention"); r != "" {
		d, err := time.ParseDuration(r)
		if err != nil || d <= 0 {
			panic(fmt.Sprintf("wovyr: -c retention=%s: write a duration such as 720h", r))
		}
		o.props.Retention = d
	}
	if folder := text("code"); folder != "" {
		o.props.Code = wovyr.Folder{Dir: folder}
	}
	return o
}

// toRoot goes to the root of the repository: cdk.json there lets this program run in its own folder, and the CDK command gives it paths from
// the root.
func toRoot() {
	if _, err := os.Stat(filepath.Join("..", "..", "cdk.json")); err != nil {
		return
	}
	if err := os.Chdir(filepath.Join("..", "..")); err != nil {
		panic(fmt.Sprintf("wovyr: %v", err))
	}
}

// environment is the account and region that the command line stands for; without credentials the template fits any.
func (o options) environment() *awscdk.Environment {
	account, region := os.Getenv("CDK_DEFAULT_ACCOUNT"), os.Getenv("CDK_DEFAULT_REGION")
	if account == "" || region == "" {
		return nil
	}
	return &awscdk.Environment{Account: jsii.String(account), Region: jsii.String(region)}
}
