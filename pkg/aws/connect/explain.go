package connect

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/wovyr/wovyr/pkg/client"
)

// Codes of the problems that a stack's gateway, not Wovyr, is the reason for.
const (
	CodeDenied      = "aws.denied"      // the caller lacks execute-api:Invoke
	CodeClock       = "aws.clock"       // this machine's clock is wrong
	CodeCredentials = "aws.credentials" // the credentials are not good any more
	CodeSignature   = "aws.signature"   // something between here and AWS changed the request
	CodeToken       = "aws.token"       // the bearer token is not good
	CodeThrottled   = "aws.throttled"   // too many requests
	CodeFunction    = "aws.function"    // the function behind the API did not answer
)

// maxSkew is how far a clock may be off: AWS refuses signatures that are older or newer by five minutes.
const maxSkew = 5 * time.Minute

// explainer puts refusals of API Gateway into the form of the API's own problems, with what to do.
type explainer struct {
	stack *Stack
	next  http.RoundTripper
	now   func() time.Time
}

// maxRefusal bounds the bytes of a refusal.
const maxRefusal = 64 << 10

// RoundTrip implements http.RoundTripper.
func (e *explainer) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := e.next.RoundTrip(r)
	if err != nil || res.StatusCode < 400 || strings.HasPrefix(res.Header.Get("Content-Type"), "application/problem+json") {
		return res, err
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxRefusal))
	_ = res.Body.Close()
	if err != nil {
		return nil, err
	}
	if p := e.problem(r, res, text); p != nil {
		if text, err = json.Marshal(p); err != nil {
			return nil, err
		}
		res.Header.Set("Content-Type", "application/problem+json")
		res.Header.Set("Content-Length", strconv.Itoa(len(text)))
		res.ContentLength = int64(len(text))
	}
	res.Body = io.NopCloser(bytes.NewReader(text))
	return res, nil
}

// problem says what a refusal means; nil if it is none of the gateway's.
func (e *explainer) problem(r *http.Request, res *http.Response, text []byte) *client.Problem {
	var said struct{ Message string } // "message" or "Message"
	_ = json.Unmarshal(text, &said)
	p := &client.Problem{Status: res.StatusCode}
	switch {
	case res.StatusCode == http.StatusUnauthorized:
		p.Code, p.Title = CodeToken, "the API of stack "+e.stack.Name+" refuses the token"
		p.Detail = cmp.Or(tokenFault(res.Header.Get("WWW-Authenticate")), said.Message) + "; put a new one of its issuer into WOVYR_TOKEN"
	case res.StatusCode == http.StatusForbidden:
		e.forbidden(r, res, said.Message, p)
	case res.StatusCode == http.StatusTooManyRequests:
		p.Code, p.Title, p.Detail = CodeThrottled, "the API of stack "+e.stack.Name+" has too many requests", "try again in a moment"
	case res.StatusCode >= 500:
		p.Code, p.Title = CodeFunction, fmt.Sprintf("the function behind the API of stack %s did not answer (%s)", e.stack.Name, res.Status)
		p.Detail = "try again; if it stays so, read the log of the function Api"
	default:
		return nil
	}
	return p
}

func (e *explainer) forbidden(r *http.Request, res *http.Response, said string, p *client.Problem) {
	low := strings.ToLower(said)
	kind := strings.ToLower(res.Header.Get("X-Amzn-Errortype"))
	switch off, wrong := e.skew(res); {
	case wrong || strings.Contains(low, "signature expired") || strings.Contains(low, "not yet current"):
		p.Code, p.Title = CodeClock, "AWS refuses the signature: the clock of this machine is wrong"
		p.Detail = "set it, and try again"
		if wrong {
			p.Detail = fmt.Sprintf("it is %s; %s", off, p.Detail)
		}
	case strings.Contains(low, "expired") || strings.Contains(kind, "expiredtoken"):
		p.Code, p.Title, p.Detail = CodeCredentials, "your session with AWS has ended", "sign in again: aws sso login, or new keys"
	case strings.Contains(low, "security token") || strings.Contains(kind, "unrecognizedclient") || strings.Contains(kind, "invalidclienttokenid"):
		p.Code, p.Title, p.Detail = CodeCredentials, "AWS does not know these credentials", said
	case strings.Contains(low, "signature") || strings.Contains(kind, "invalidsignature"):
		p.Code, p.Title = CodeSignature, "AWS finds the signature wrong"
		p.Detail = "is the secret key right, and does no proxy on the way change the request?"
	default:
		p.Code, p.Title = CodeDenied, fmt.Sprintf("%s may not call the API of stack %s", e.caller(r.Context()), e.stack.Name)
		p.Detail = "it takes the right execute-api:Invoke on " + e.stack.invokeARN(r.Method, e.path(r)) + " (docs/deploy.md has a policy)"
	}
}

// skew says how far this machine's clock is from the service's, if that is too far for signatures.
func (e *explainer) skew(res *http.Response) (string, bool) {
	there, err := http.ParseTime(res.Header.Get("Date"))
	if err != nil {
		return "", false
	}
	off := e.now().Sub(there)
	if off.Abs() < maxSkew {
		return "", false
	}
	text := "about " + strings.TrimSuffix(off.Abs().Round(time.Minute).String(), "0s")
	if off < 0 {
		return text + " behind", true
	}
	return text + " ahead", true
}

// path is the path of a request below the API.
func (e *explainer) path(r *http.Request) string {
	return "/" + strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, pathOf(e.stack.Server())), "/")
}

func pathOf(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return rest[i:]
	}
	return ""
}

// caller is the identity whose credentials are used, as far as AWS says it: that takes no right.
func (e *explainer) caller(ctx context.Context) string {
	if e.stack.Auth() != AuthIAM {
		return "this caller"
	}
	out, err := sts.NewFromConfig(e.stack.Config).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil || out.Arn == nil {
		return "this caller"
	}
	return aws.ToString(out.Arn)
}

// tokenFault is the description of the fault in a WWW-Authenticate header.
func tokenFault(header string) string {
	_, rest, ok := strings.Cut(header, `error_description="`)
	if !ok {
		return ""
	}
	text, _, _ := strings.Cut(rest, `"`)
	return text
}
