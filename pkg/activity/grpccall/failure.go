package grpccall

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// outcome is what a status means to a workflow.
type outcome struct {
	name      string
	category  workflow.Category
	retryable bool
}

// outcomes are those of the status codes of gRPC. What the caller did wrong is no passing fault; what went wrong on the other side may be.
var outcomes = map[codes.Code]outcome{
	codes.Canceled:           {"cancelled", workflow.CategoryExternal, true},
	codes.Unknown:            {"unknown", workflow.CategoryExternal, true},
	codes.InvalidArgument:    {"invalid_argument", workflow.CategoryActivity, false},
	codes.DeadlineExceeded:   {"deadline_exceeded", workflow.CategoryExternal, true},
	codes.NotFound:           {"not_found", workflow.CategoryActivity, false},
	codes.AlreadyExists:      {"already_exists", workflow.CategoryActivity, false},
	codes.PermissionDenied:   {"permission_denied", workflow.CategoryActivity, false},
	codes.ResourceExhausted:  {"resource_exhausted", workflow.CategoryExternal, true},
	codes.FailedPrecondition: {"failed_precondition", workflow.CategoryActivity, false},
	codes.Aborted:            {"aborted", workflow.CategoryExternal, true},
	codes.OutOfRange:         {"out_of_range", workflow.CategoryActivity, false},
	codes.Unimplemented:      {"unimplemented", workflow.CategoryActivity, false},
	codes.Internal:           {"internal", workflow.CategoryExternal, true},
	codes.Unavailable:        {"unavailable", workflow.CategoryExternal, true},
	codes.DataLoss:           {"data_loss", workflow.CategoryExternal, false},
	codes.Unauthenticated:    {"unauthenticated", workflow.CategoryActivity, false},
}

// failure makes the typed error of a call that did not end well. ctx is that of the attempt, watched the one that silence ends.
func failure(ctx, watched context.Context, b *block, c *connection, limit int64, err error) error {
	if at, ok := ctx.Deadline(); ok && !time.Now().Before(at) {
		<-ctx.Done() // gRPC looks at the clock itself, and may be first
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(context.Cause(watched), errSilent) {
		return activity.Unavailable(CodeTimeout, "%s: nothing came for %v: give the step a timeout that fits, or callback: true if the work takes long", b.where(), MaxSilence)
	}
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	if refused := c.refused.Load(); refused != nil && s.Code() == codes.Unavailable {
		return refused
	}
	if s.Code() == codes.ResourceExhausted && strings.HasPrefix(s.Message(), "grpc: received message") {
		return activity.TooLarge(limit)
	}
	o, known := outcomes[s.Code()]
	if !known {
		o = outcomes[codes.Unknown]
	}
	e := workflow.Errorf("grpc."+o.name, o.category, "%s: %s%s", b.where(), orElse(s.Message(), "the server says no more than "+o.name), b.hint(s))
	e.Retryable = o.retryable
	e.Details = details(s, o.name)
	return activity.Later(e, retryAfter(s))
}

const noHTTP2 = "the server speaks TLS, but not HTTP/2, so it is none for gRPC: name another target, or call it by http"

// hints are what to write where the two sides do not speak alike. gRPC passes on why a connection failed as a text only.
var hints = []struct {
	plaintext bool   // of the block
	says      string // the connection's error
	hint      string
}{
	{false, "first record does not look like a TLS handshake", "the server speaks no TLS: write plaintext: true if it is meant not to"},
	{false, "no application protocol", noHTTP2},
	{false, "missing selected ALPN property", noHTTP2},
	{true, "error reading server preface", "the server does not answer as one without TLS: leave out plaintext: true if it speaks TLS"},
}

// hint says what to write when the server could not be spoken to at all; empty if that is not known.
func (b *block) hint(s *status.Status) string {
	for _, h := range hints {
		if s.Code() == codes.Unavailable && h.plaintext == b.Plaintext && strings.Contains(s.Message(), h.says) {
			return ": " + h.hint
		}
	}
	return ""
}

func orElse(text, other string) string {
	if text != "" {
		return text
	}
	return other
}

// details are the status and what the server adds to it, as far as its types are known.
func details(s *status.Status, name string) workflow.Value {
	out := struct {
		Status  string            `json:"status"`
		Number  uint32            `json:"number"`
		Details []json.RawMessage `json:"details,omitempty"`
	}{Status: name, Number: uint32(s.Code())}
	for _, any := range s.Proto().GetDetails() {
		text, err := protojson.Marshal(any)
		if err != nil {
			text, err = json.Marshal(map[string]string{"@type": any.GetTypeUrl()})
		}
		if err == nil {
			out.Details = append(out.Details, text)
		}
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil
	}
	return text
}

// retryAfter is how long the server asks to wait; zero if it does not.
func retryAfter(s *status.Status) time.Duration {
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			return info.GetRetryDelay().AsDuration()
		}
	}
	return 0
}
