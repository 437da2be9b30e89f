package wovyr

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"

	"github.com/wovyr/wovyr/pkg/aws/stack"
)

// API says which kind of API Gateway stands before the API function.
type API string

// Kinds of API. The HTTP API is cheaper and faster; the REST API is there for what only it has, and for emulators without HTTP APIs.
const (
	APIHTTP API = "http"
	APIREST API = "rest"
)

// Auth says who may call the API.
type Auth struct {
	// JWT lets in whoever has a token of this issuer; nil: whoever may call by IAM (signature version 4).
	JWT *JWT
	// None lets everybody in. It is for emulators: a deployment to AWS with it fails.
	None bool
}

// JWT is an issuer of tokens.
type JWT struct {
	Issuer   string
	Audience []string
	// TenantClaim names the claim that holds the caller's tenant; empty: all callers are of Props.Tenant.
	TenantClaim string
}

// Class is a worker class: a queue, and a function of the user's own that takes from it. It holds the user's code, so it gets no right to
// write histories (commit protocol, point 15).
type Class struct {
	// Name is lower case letters, digits and hyphens.
	Name string
	// Functions are the functions that it runs, by the names that workflows call them by, such as "inventory.reserve" or "inventory.*". The first
	// class that names a function has it.
	Functions []string
	// Main is the package of the function, as the go command takes it in the app's module ("./inventory"): it is compiled with the app. Its main is about
	// 15 lines on github.com/wovyr/wovyr/pkg/aws.
	Main string
	// Code is a function that is compiled already, instead of Main: a file "bootstrap" for Props.Architecture.
	Code awslambda.Code
	// MemoryMiB is 512 if zero. Timeout is how long one attempt may run, less a margin of seconds that the function needs to answer: 15 minutes if zero and
	// at most that. A workflow whose step may take longer is refused when it is deployed.
	MemoryMiB float64
	Timeout   time.Duration
	// MaxConcurrency bounds how many run at once, 2 to 1000; 0: no bound.
	MaxConcurrency float64
	Environment    map[string]string
}

// Props are the choices of a deployment. The zero value is good for production.
type Props struct {
	// API is APIHTTP if empty.
	API  API
	Auth Auth
	// Tenant is that of callers without one; "default" if empty.
	Tenant string
	// Classes are the user's own workers.
	Classes []Class
	// Code builds the functions of Wovyr; nil: by the go command, from the version of the module github.com/wovyr/wovyr that the app requires.
	Code Code
	// Architecture is ARM64 if nil.
	Architecture awslambda.Architecture
	// CustomerKey encrypts tables, queues, buckets and logs with a KMS key of the stack's own.
	CustomerKey bool
	// Ephemeral deletes all data with the stack. Without it, tables, buckets and keys stay.
	Ephemeral bool
	// Retention is how long ended executions stay in the tables before they are archived; 30 days if zero.
	Retention time.Duration
	// LogRetention is one month if empty.
	LogRetention awslogs.RetentionDays
	// AlarmTopic hears of alarms; nil: alarms are shown only.
	AlarmTopic awssns.ITopic
	// SecretsPrefix is what the names of the secrets and parameters begin with that workflows may use; "wovyr/" if empty.
	SecretsPrefix string
	// InvokeFunctions are ARNs (with * if need be) of the functions that steps `function: {arn: …}` may call; none if empty.
	InvokeFunctions []string
	// EgressAllow is what activities may call besides public addresses: hosts, domains ("*.corp.example"), networks ("10.0.0.0/8").
	EgressAllow []string
	// ListenTo are sources of EventBridge's default bus whose events reach waiting executions, such as "aws.s3" or "shop".
	ListenTo []string
	// NoDashboard leaves out the dashboard: CloudWatch takes $3 a month for each after the third of an account, and not every emulator has them.
	NoDashboard bool
	// LogLevel is "info" if empty.
	LogLevel string
}

// timeout is how long the function of a class may run.
func (c Class) timeout() time.Duration {
	if c.Timeout == 0 {
		return stack.ActivityTimeout
	}
	return c.Timeout
}

// functionPattern is a name of functions as workflows write them, or a prefix with * behind.
var functionPattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*\*?$`)

var className = regexp.MustCompile(`^[a-z][a-z0-9-]{0,40}$`)

// withDefaults fills in what was left out, and panics with what is wrong, as constructs do.
func (p Props) withDefaults() Props {
	if p.API == "" {
		p.API = APIHTTP
	}
	if p.API != APIHTTP && p.API != APIREST {
		panic(fmt.Sprintf("wovyr: API is %q: write %q or %q", p.API, APIHTTP, APIREST))
	}
	if p.API == APIREST && p.Auth.JWT != nil {
		panic("wovyr: a REST API takes callers by IAM: leave out Auth.JWT, or use the HTTP API")
	}
	if p.Tenant == "" {
		p.Tenant = "default"
	}
	if p.Architecture == nil {
		p.Architecture = awslambda.Architecture_ARM_64()
	}
	if p.Code == nil {
		p.Code = GoBuild{}
	}
	if p.Retention == 0 {
		p.Retention = 30 * 24 * time.Hour
	}
	if p.Retention < stack.MinRetention {
		panic(fmt.Sprintf("wovyr: Retention is %v: it must be at least %v, longer than queues keep messages", p.Retention, stack.MinRetention))
	}
	if p.LogRetention == "" {
		p.LogRetention = awslogs.RetentionDays_ONE_MONTH
	}
	if p.SecretsPrefix == "" {
		p.SecretsPrefix = "wovyr/"
	}
	if p.LogLevel == "" {
		p.LogLevel = "info"
	}
	seen := map[string]bool{"default": true}
	for _, c := range p.Classes {
		switch {
		case !className.MatchString(c.Name):
			panic(fmt.Sprintf("wovyr: the worker class %q: a name is lower case letters, digits and hyphens, at most 41", c.Name))
		case seen[c.Name]:
			panic(fmt.Sprintf("wovyr: the worker class %q is there already", c.Name))
		case (c.Code == nil) == (c.Main == ""):
			panic(fmt.Sprintf("wovyr: the worker class %q: name the package of its function (Main: \"./inventory\"), or give it compiled (Code), and not both", c.Name))
		case len(c.Functions) == 0:
			panic(fmt.Sprintf("wovyr: the worker class %q runs no function: name some in Functions, such as \"inventory.*\"", c.Name))
		case slices.ContainsFunc(c.Functions, func(f string) bool { return !functionPattern.MatchString(f) }):
			panic(fmt.Sprintf("wovyr: the worker class %q runs the functions %q: write names such as \"inventory.reserve\", or prefixes such as \"inventory.*\"", c.Name, c.Functions))
		case c.Timeout > 15*time.Minute:
			panic(fmt.Sprintf("wovyr: the worker class %q may run %v, and Lambda at most 15 minutes: let the activity answer by a callback", c.Name, c.Timeout))
		}
		seen[c.Name] = true
	}
	return p
}
