package httpcall

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Codes of errors, beside http.<status> for an answer that is no success.
const (
	CodeConnect     = "http.connect"      // no connection came about
	CodeDNS         = "http.dns"          // the name of the host was not found
	CodeTLS         = "http.tls"          // the other side is not who it should be, or speaks no TLS that is allowed
	CodeRead        = "http.read"         // the connection broke before the whole answer was there
	CodeTimeout     = "http.timeout"      // nothing came for MaxSilence in a call without a timeout
	CodeRedirects   = "http.redirects"    // a redirect is not followed
	CodeOAuth2      = "http.oauth2"       // there is no token
	CodeCircuitOpen = "http.circuit_open" // the destination is left alone for a while
)

// failure types what went wrong on the way. ctx is that of the attempt, watched the one that silence ends.
func failure(ctx, watched context.Context, b *block, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	where := b.where()
	if at := (*unreached)(nil); errors.As(err, &at) {
		where = "auth: oauth2: POST " + at.at
	}
	if errors.Is(context.Cause(watched), errSilent) {
		return activity.Unavailable(CodeTimeout, "%s: nothing came for %v: give the step a timeout that fits, or callback: true if the work takes long", where, MaxSilence)
	}
	if later := (*activity.RetryAfterError)(nil); errors.As(err, &later) {
		return later
	}
	if typed := (*activity.Error)(nil); errors.As(err, &typed) {
		return typed
	}
	if inner := (*url.Error)(nil); errors.As(err, &inner) {
		err = inner.Err // its text has the address with the query
	}
	code := CodeRead
	switch {
	case errors.As(err, new(*net.DNSError)):
		code = CodeDNS
	case ofTLS(err):
		return workflow.Errorf(CodeTLS, workflow.CategoryExternal, "%s: %v", where, err)
	case dialing(err):
		code = CodeConnect
	}
	return activity.Unavailable(code, "%s: %v", where, err)
}

func dialing(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// ofTLS reports whether the two sides could not agree about TLS. It will not mend by itself.
func ofTLS(err error) bool {
	return errors.As(err, new(*tls.CertificateVerificationError)) || errors.As(err, new(x509.UnknownAuthorityError)) ||
		errors.As(err, new(x509.HostnameError)) || errors.As(err, new(x509.CertificateInvalidError)) ||
		errors.As(err, new(tls.RecordHeaderError)) || errors.As(err, new(tls.AlertError)) || strings.Contains(err.Error(), "tls: ") ||
		strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}

// refused is the error for an answer that is no success. It reads the beginning of the body.
func refused(b *block, res *http.Response, safe func(string) string) error {
	text, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	if typed := (*activity.Error)(nil); err != nil && !errors.As(err, &typed) {
		return err // the attempt has ended
	}
	text = []byte(safe(string(text)))
	category, retryable := activity.StatusKind(res.StatusCode)
	said := strings.Join(strings.Fields(strings.ToValidUTF8(string(text), "\uFFFD")), " ")
	if r := []rune(said); len(r) > 300 {
		said = string(r[:300]) + "…"
	}
	e := &activity.Error{Code: fmt.Sprintf("http.%d", res.StatusCode), Category: category, Retryable: retryable, Details: details(res, text),
		Message: strings.TrimSuffix(fmt.Sprintf("%s: %s: %s", b.where(), status(res), said), ": ")}
	return activity.Later(e, activity.RetryAfter(res.Header))
}

// status is "503 Service Unavailable"; the words are ours, as the other side's may be anything.
func status(res *http.Response) string {
	return strings.TrimSpace(strconv.Itoa(res.StatusCode) + " " + http.StatusText(res.StatusCode))
}

// maxDetail is the most bytes of headers, and of a body, in the details of an error.
const maxDetail = 12 << 10

// details are {status, headers, body}, as those of a success. What is too large is left out, or cut if it is a text.
func details(res *http.Response, text []byte) workflow.Value {
	d := map[string]any{"status": res.StatusCode}
	if h, err := json.Marshal(headersOf(res.Header)); err == nil && len(h) <= maxDetail {
		d["headers"] = json.RawMessage(h)
	}
	switch {
	case len(text) == 0:
	case json.Valid(text) && len(text) <= maxDetail:
		d["body"] = json.RawMessage(text)
	default:
		d["body"] = strings.ToValidUTF8(string(text[:min(len(text), maxDetail/4)]), "\uFFFD")
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(d) != nil {
		return nil
	}
	return bytes.TrimSpace(out.Bytes())
}
