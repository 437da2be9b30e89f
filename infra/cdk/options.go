package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// name is the name of the stack: `cdk deploy -c stack=NAME`.
func name(app awscdk.App) string {
	if s := app.Node().TryGetContext(jsii.String("stack")); s != nil {
		return fmt.Sprint(s)
	}
	return "wovyr"
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
func environment() *awscdk.Environment {
	account, region := os.Getenv("CDK_DEFAULT_ACCOUNT"), os.Getenv("CDK_DEFAULT_REGION")
	if account == "" || region == "" {
		return nil
	}
	return &awscdk.Environment{Account: jsii.String(account), Region: jsii.String(region)}
}
