package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/webhook"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

const (
	// maxHook is the most bytes of a request to a webhook.
	maxHook = 1 << 20
	// repeats is within what time the same body to the same webhook is the same delivery, if its sender does not say.
	repeats = 10 * time.Minute
)

// hook takes a request to a webhook, which anybody may send: it proves itself by a secret (docs/triggers.md). Until it has, it costs a query for
// the address and, if there is one, a read of the version that has it, and the answer says nothing of why it is refused.
func (s *Server) hook(r *http.Request) (answer, error) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxHook))
	if err != nil {
		return answer{}, err
	}
	address, now := "/hooks/"+r.PathValue("path"), s.Worker.Clock.Now()
	h, err := s.Worker.Webhook(r.Context(), s.Tenant, address, fmt.Sprintf("%x", sha256.Sum256(body)))
	if errors.Is(err, worker.ErrNoWebhook) {
		return answer{}, problem(http.StatusNotFound, "webhook.unknown", "there is no webhook at this address", "")
	}
	if err != nil {
		return answer{}, err
	}
	if err := s.sent(r.Context(), h, r.Header, body, time.Unix(0, now)); err != nil {
		return answer{}, err
	}
	in := delivery(h.Trigger.Verify, address, r.Header, body, now)
	value, err := webhook.Value(r.Header.Get("Content-Type"), body)
	if err == nil {
		in.Data, err = payload(value)
	}
	if err != nil {
		return answer{}, problem(http.StatusBadRequest, "body", "the body cannot be read", err.Error())
	}
	started, err := s.Worker.Take(r.Context(), h, in)
	var unstarted *worker.UnstartedError
	if errors.As(err, &unstarted) {
		detail := "it is kept among the dead letters: to be sent again once the workflow is mended"
		if !unstarted.Kept {
			detail = "a dead letter has the cause, but the request is too large to be kept: send it again once the workflow is mended"
		}
		return answer{}, problem(http.StatusUnprocessableEntity, unstarted.Cause.Code, unstarted.Cause.Message, detail)
	}
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusAccepted, body: client.Hooked{Accepted: true, Execution: started.Execution, Existed: started.Existed}}, nil
}

// delivery is what a request brings, and which one it is: that depends on how its webhook verifies its senders.
func delivery(v workflow.Verify, address string, header http.Header, body []byte, now int64) worker.HookRequest {
	id, own := webhook.Delivery(v, header, body)
	in := worker.HookRequest{ID: id, Type: cmp.Or(webhook.EventType(v, header), address)}
	if !own {
		turn := now / int64(repeats)
		in.ID, in.Before, in.Since = fmt.Sprintf("%s@%d", id, turn), fmt.Sprintf("%s@%d", id, turn-1), now-int64(repeats)
	}
	return in
}

// sent checks that the sender of a request knows the secret of its webhook. That the secret itself cannot be read is ours to mend: the log says what is missing,
// and the sender tries again.
func (s *Server) sent(ctx context.Context, h *worker.Hook, header http.Header, body []byte, now time.Time) error {
	v := h.Trigger.Verify
	name := cmp.Or(v.HMACSHA256, v.Bearer)
	secret, err := "", errors.New("this server has no secrets")
	if s.Worker.Secrets != nil {
		secret, err = s.Worker.Secrets.Secret(ctx, s.Tenant, name)
	}
	if err != nil {
		if s.Log != nil {
			s.Log.Error("a webhook cannot be verified", "webhook", h.Trigger.Path, "workflow", h.Workflow, "secret", name, "cause", err)
		}
		return &client.Problem{Status: http.StatusServiceUnavailable, Code: "webhook.unavailable", Title: "the webhook cannot be verified now: try again later"}
	}
	if err := webhook.Verify(v, secret, header, body, now); err != nil {
		return problem(http.StatusUnauthorized, "webhook.refused", "the request does not prove who sent it", "")
	}
	return nil
}
