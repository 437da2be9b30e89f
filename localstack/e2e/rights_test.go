package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
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
	code, err := watched(context.Background(), m.Run)
	if err != nil {
		fmt.Println("rights:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// watch is one stack and the proxy behind its functions.
type watch struct {
	cfg    aws.Config
	stack  string
	proxy  *awsproxy.Proxy
	detach func(context.Context) error
}

func watchStack(ctx context.Context, cfg aws.Config, name string) (*watch, error) {
	proxy, err := awsproxy.Start(os.Getenv("AWS_ENDPOINT_URL"))
	if err != nil {
		return nil, err
	}
	detach, err := proxy.Attach(ctx, cfg, name, nil)
	return &watch{cfg, name, proxy, detach}, err
}

// watched runs the scenarios, and returns their code and what is wrong with the rights of the stacks.
func watched(ctx context.Context, run func() int) (code int, err error) {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return 1, err
	}
	var watches []*watch
	for _, name := range []string{*name, *shop} {
		if name == "" {
			continue
		}
		w, err := watchStack(ctx, cfg, name)
		if err != nil {
			return 1, err
		}
		defer w.proxy.Close()
		watches = append(watches, w)
	}
	code = run()
	var all []error
	for _, w := range watches {
		all = append(all, w.check(ctx))
	}
	return code, errors.Join(all...)
}

// check says what is wrong: calls that a role does not allow, and rights that nothing needs. The scenarios of the stack of examples/aws-inventory are
// about its class, so only the class' rights are looked at for the latter.
func (w *watch) check(ctx context.Context) error {
	if err := w.sweep(ctx); err != nil {
		return err
	}
	if err := w.detach(ctx); err != nil {
		return err
	}
	roles, err := rights.Deployed(ctx, w.cfg, w.stack)
	if err != nil {
		return err
	}
	var at rights.Place
	for _, role := range roles { // order-free: all are of one account
		at = rights.PlaceOf(role.ARN, w.cfg.Region)
	}
	calls := w.proxy.Calls()
	maps.DeleteFunc(calls, func(c awsproxy.Call, _ int) bool {
		return c.Service == "lambda" && strings.Contains(c.Resource, "Nobody")
	}) // which a scenario has refused
	wrong := rights.Missing(at, roles, calls)
	grants, unused := rights.Grants(roles), rights.Unused(at, roles, calls)
	if w.stack == *shop {
		unused = slices.DeleteFunc(unused, func(g rights.Grant) bool { return !strings.HasPrefix(g.Function, "Class") })
	}
	if !testing.Short() { // a few scenarios use a few rights
		wrong = append(wrong, rights.Unexplained(grants, unused, rights.Reasons)...)
	}
	fmt.Printf("rights: stack %s: %d kinds of calls of %d functions, %d grants, %d of them not used by these scenarios\n", w.stack, len(calls), len(roles), len(grants), len(unused))
	if len(wrong) > 0 {
		return fmt.Errorf("stack %s is not as it should be:\n  %s", w.stack, strings.Join(wrong, "\n  "))
	}
	return nil
}

// sweep starts the sweep, which an emulator may start too seldom.
func (w *watch) sweep(ctx context.Context) error {
	functions, err := awsproxy.Functions(ctx, w.cfg, w.stack)
	if err != nil {
		return err
	}
	for function, environment := range functions { // order-free: one is it
		if environment[stack.EnvApplication] != "Timer" {
			continue
		}
		out, err := lambda.NewFromConfig(w.cfg).Invoke(ctx, &lambda.InvokeInput{FunctionName: &function, Payload: []byte(`{"wovyr":"` + stack.SweepEvent + `"}`)})
		if err != nil {
			return err
		}
		if out.FunctionError != nil {
			return fmt.Errorf("the sweep: %s", out.Payload)
		}
	}
	return nil
}
