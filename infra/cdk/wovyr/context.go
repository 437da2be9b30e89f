package wovyr

import (
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// PropsOf reads the choices of a deployment from the context of an app: what `cdk deploy -c name=value` and cdk.json say. The names are listed in
// infra/cdk/README.md. It panics at one that is wrong: CDK shows the message.
func PropsOf(app constructs.Construct) Props {
	c := choices{app}
	p := Props{
		API: API(c.text("api")), Tenant: c.text("tenant"), Ephemeral: c.text("ephemeral") == "true", CustomerKey: c.text("customerKey") == "true",
		SecretsPrefix: c.text("secretsPrefix"), InvokeFunctions: c.list("invokeFunctions"), ListenTo: c.list("listenTo"), EgressAllow: c.list("egressAllow"), LogLevel: c.text("logLevel"),
		Auth: c.auth(), NoDashboard: c.text("dashboard") == "false",
	}
	switch c.text("architecture") {
	case "", "arm64":
	case "x86_64":
		p.Architecture = awslambda.Architecture_X86_64()
	default:
		panic("wovyr: -c architecture= takes arm64 or x86_64")
	}
	if r := c.text("retention"); r != "" {
		d, err := time.ParseDuration(r)
		if err != nil || d <= 0 {
			panic(fmt.Sprintf("wovyr: -c retention=%s: write a duration such as 720h", r))
		}
		p.Retention = d
	}
	if folder := c.text("code"); folder != "" {
		p.Code = Folder{Dir: folder}
	}
	return p
}

// choices are the context of an app.
type choices struct{ app constructs.Construct }

func (c choices) text(name string) string {
	v := c.app.Node().TryGetContext(jsii.String(name))
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// list is a text with commas.
func (c choices) list(name string) []string {
	if c.text(name) == "" {
		return nil
	}
	return strings.Split(c.text(name), ",")
}

func (c choices) auth() Auth {
	switch auth := c.text("auth"); auth {
	case "", "iam":
		return Auth{}
	case "none":
		return Auth{None: true}
	case "jwt":
		jwt := &JWT{Issuer: c.text("issuer"), Audience: c.list("audience"), TenantClaim: c.text("tenantClaim")}
		if jwt.Issuer == "" || len(jwt.Audience) == 0 {
			panic("wovyr: -c auth=jwt needs -c issuer=https://… and -c audience=…")
		}
		return Auth{JWT: jwt}
	default:
		panic(fmt.Sprintf("wovyr: -c auth=%s: it takes iam, jwt or none", auth))
	}
}
