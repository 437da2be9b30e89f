package activity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/wovyr/wovyr/pkg/activity/egress"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Remote calls a function by URL: `function: { url: https://… }`. The step's `with` is posted as JSON; the answer's body is the
// output. The attempt stands in the headers Wovyr-Execution, Wovyr-Step and Wovyr-Attempt, its idempotency key in
// Idempotency-Key. An answer that is no success is an error as StatusKind says, with code
// http.<status>, unless the body is {"error": {…}} as a program would write it.
type Remote struct {
	// Client sends the requests; nil is one that reaches public addresses only (package egress).
	Client *http.Client
}

// public is the client of a Remote without one.
var public = &http.Client{Transport: (*egress.Guard)(nil).Transport()}

// maxErrorBody is how much of an error's body is read.
const maxErrorBody = 64 << 10

// Run implements Activity.
func (r *Remote) Run(ctx context.Context, t *Task) (Result, error) {
	var target struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal(t.Target.JSON, &target); err != nil {
		return Result{}, NewError(CodeInput, "url: write the whole address, such as https://pay.example/charges")
	}
	to, err := ParseURL(target.URL)
	if err != nil {
		return Result{}, err
	}
	body, w := io.Pipe()
	go func() { w.CloseWithError(t.With.WriteText(ctx, w)) }()
	defer body.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), body)
	if err != nil {
		return Result{}, NewError(CodeInput, "url: %s is no address", to.Host)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Idempotency-Key", t.IdempotencyKey)
	req.Header.Set("Wovyr-Execution", t.Execution)
	req.Header.Set("Wovyr-Step", t.Step)
	req.Header.Set("Wovyr-Attempt", strconv.Itoa(t.Attempt))
	res, err := r.client().Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		if refused := (*Error)(nil); errors.As(err, &refused) {
			return Result{}, refused
		}
		return Result{}, Unavailable("http.connect", "%v", err) // it names the URL
	}
	if res.StatusCode/100 == 2 {
		return remoteOutput(t, res)
	}
	defer res.Body.Close()
	return Result{}, remoteError(t, to, res)
}

// ParseURL reads the address of a request: http or https, a host, no user. What must not stand in a query as it is gets escaped, as
// net/http would write a blank as it stands, and the request line would end there. The error is an *Error, activity.input.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, NewError(CodeInput, "url: %q is no address: write https://host/path, and escape values with odd characters", text)
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", u.Opaque != "":
		return nil, NewError(CodeInput, "url: %q is not a whole address: write one such as https://pay.example/charges", text)
	case u.User != nil:
		return nil, NewError(CodeInput, "url: it has a user name: say who calls in a header or by auth")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return nil, NewError(CodeInput, "url: %s is no port", port)
		}
	}
	u.Fragment, u.RawFragment = "", ""
	u.RawQuery = escapeQuery(u.RawQuery)
	return u, nil
}

func escapeQuery(query string) string {
	var out strings.Builder
	for i := range len(query) {
		if c := query[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			fmt.Fprintf(&out, "%%%02X", c)
		} else {
			out.WriteByte(c)
		}
	}
	return out.String()
}

func (r *Remote) client() *http.Client {
	if r.Client == nil {
		return public
	}
	return r.Client
}

func remoteOutput(t *Task, res *http.Response) (Result, error) {
	if res.StatusCode == http.StatusNoContent {
		return Result{}, res.Body.Close()
	}
	if res.ContentLength > maxCommandMemory || res.ContentLength < 0 {
		return Result{Stream: res.Body}, nil
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return Result{}, Unavailable("http.read", "%v", err)
	}
	if len(text) == 0 {
		return Result{}, nil
	}
	if !json.Valid(text) {
		return Result{}, NewError(CodeOutput, "the answer is not JSON (it begins: %.80q)", t.Masked(string(text)))
	}
	return Result{Output: text}, nil
}

// StatusKind says what an HTTP status that is no success means: a request that is wrong (category activity, permanent), or a service that
// may answer later (category external, retryable): 408, 425, 429 and 5xx but for 501 and 505.
func StatusKind(status int) (category workflow.Category, retryable bool) {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return workflow.CategoryExternal, true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return workflow.CategoryExternal, false
	}
	if status >= 500 {
		return workflow.CategoryExternal, true
	}
	return workflow.CategoryActivity, false
}

func remoteError(t *Task, to *url.URL, res *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	text = []byte(t.Masked(string(text)))
	category, retryable := StatusKind(res.StatusCode)
	e := workflow.Errorf(fmt.Sprintf("http.%d", res.StatusCode), category, "POST %s answered %s: %s", t.mask().String(to.Scheme+"://"+to.Host+to.EscapedPath()), res.Status, strings.TrimSpace(fmt.Sprintf("%.200s", text)))
	e.Retryable = retryable
	var answer struct {
		Error *Error `json:"error"`
	}
	if json.Unmarshal(text, &answer) == nil && answer.Error != nil && answer.Error.Code != "" {
		e = answer.Error
		if !e.Category.Valid() {
			e.Category = workflow.CategoryExternal
		}
	}
	return Later(e, RetryAfter(res.Header))
}
