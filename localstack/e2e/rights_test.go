package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/wovyr/wovyr/internal/awsproxy"
	"github.com/wovyr/wovyr/localstack/rights"
	"github.com/wovyr/wovyr/pkg/aws/stack"
)

// TestMain runs the scenarios with a proxy between the functions and the emulator, and then holds all that they called against their roles, which the
// emulator itself does not. On AWS the roles are held to by AWS, and the functions of LocalStack run in containers that do not reach this process.
func TestMain(m *testing.M) {
	flag.Parse()
	if *name == "" || *emulator != "ministack" {
		os.Exit(m.Run())
	}
	code, err := watched(m.Run)
	if err != nil {
		fmt.Println("rights:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// sweep starts the sweep, which an emulator may start too seldom.
func sweep(ctx context.Context, cfg aws.Config) error {
	functions, err := awsproxy.Functions(ctx, cfg, *name)
	if err != nil {
		return err
	}
	for function, environment := range functions { // order-free: one is it
		if environment[stack.EnvApplication] != "Timer" {
			continue
		}
		out, err := lambda.NewFromConfig(cfg).Invoke(ctx, &lambda.InvokeInput{FunctionName: &function, Payload: []byte(`{"wovyr":"` + stack.SweepEvent + `"}`)})
		if err != nil {
			return err
		}
		if out.FunctionError != nil {
			return fmt.Errorf("the sweep: %s", out.Payload)
		}
	}
	return nil
}

func watched(run func() int) (code int, err error) {
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return 1, err
	}
	proxy, err := awsproxy.Start(os.Getenv("AWS_ENDPOINT_URL"))
	if err != nil {
		return 1, err
	}
	defer proxy.Close()
	detach, err := proxy.Attach(ctx, cfg, *name, nil)
	if err != nil {
		return 1, err
	}
	code = run()
	if err := sweep(ctx, cfg); err != nil {
		return code, err
	}
	if err := detach(ctx); err != nil {
		return code, err
	}
	roles, err := rights.Deployed(ctx, cfg, *name)
	if err != nil {
		return code, err
	}
	var at rights.Place
	for _, role := range roles { // order-free: all are of one account
		at = rights.PlaceOf(role.ARN, cfg.Region)
	}
	calls := proxy.Calls()
	wrong := rights.Missing(at, roles, calls)
	grants, unused := rights.Grants(roles), rights.Unused(at, roles, calls)
	if !testing.Short() { // a few scenarios use a few rights
		wrong = append(wrong, rights.Unexplained(grants, unused, rights.Reasons)...)
	}
	fmt.Printf("rights: %d kinds of calls of %d functions, %d grants, %d of them not used by these scenarios\n", len(calls), len(roles), len(grants), len(unused))
	if len(wrong) > 0 {
		return max(code, 1), fmt.Errorf("not as it should be:\n  %s", strings.Join(wrong, "\n  "))
	}
	return code, nil
}
