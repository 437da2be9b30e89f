package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Server answers the API for one tenant. Its fields are set once.
type Server struct {
	Worker *worker.Worker
	// Ask hands an input to an execution and returns when it is safe.
	Ask func(ctx context.Context, s eventstore.Stream, in workflow.Input) error
	// Watch returns a channel that is closed when the execution has moved; nil: Wait polls nothing and answers at once.
	Watch  func(s eventstore.Stream) <-chan struct{}
	Tenant string
	// Principal is who the caller is, made sure of by what stands before this server; empty: nobody made sure. It enters the history wherever
	// an input says who sent it.
	Principal string
	// Kinds is what the workers behind this server can run, for warnings at a deploy; nil: it is not known here.
	Kinds *activity.Registry
	// Secrets lists the secrets that these workers can have, likewise; nil: it is not known here.
	Secrets func() ([]string, error)
	// Misfits says what of a workflow can never run where this server's executions run: a document with such findings is refused. Nil: nothing is known.
	Misfits func(file string, def *workflow.Definition) []dsl.Diagnostic
	// Tokens gives what checks the tokens that answers of callbacks come with.
	Tokens func(ctx context.Context) (worker.Tokens, error)
	// MaxAnswer is the most bytes of an answer that shows an execution or a page of its history, where it travels as a text inside JSON, its quotes escaped: an
	// input or output that does not fit is shown as where it is kept, and a page ends before an event that does not. 0: no more than maxShown of an input or output.
	MaxAnswer int
	Log       *slog.Logger
}

// Limits of requests.
const (
	maxDocument = 2 << 20
	maxBody     = 6 << 20
	// maxShown is the most bytes of an input or output in an answer.
	maxShown = 4 << 20
)

// Handler routes requests.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	allowed := map[string][]string{}
	for pattern, to := range s.routes() { // order-free: patterns do not overlap
		mux.Handle(pattern, s.wrap(to.guard))
		method, path, _ := strings.Cut(pattern, " ")
		allowed[path] = append(allowed[path], method)
	}
	for path, methods := range allowed { // order-free: likewise
		mux.Handle(path, s.wrap(otherMethod(methods)))
	}
	mux.Handle("/", s.wrap(func(*http.Request) (answer, error) {
		return answer{}, problem(http.StatusNotFound, "not_found", "there is no such address", "the API is under /v1: /v1/executions, /v1/workflows, /v1/tasks, /v1/events, /v1/deadletters")
	}))
	return mux
}

// otherMethod answers requests to an address that takes other methods.
func otherMethod(methods []string) handler {
	if slices.Contains(methods, http.MethodGet) {
		methods = append(methods, http.MethodHead)
	}
	slices.Sort(methods)
	allow := strings.Join(methods, ", ")
	return func(r *http.Request) (answer, error) {
		return answer{header: http.Header{"Allow": {allow}}}, problem(http.StatusMethodNotAllowed, "method", "this address does not take "+clip(r.Method), "it takes "+allow)
	}
}

// routes are described in docs/openapi.yaml, all of them, with the words of their queries: a test compares.
func (s *Server) routes() map[string]route {
	return map[string]route{
		"POST /v1/workflows":                    {handler: s.deploy, query: words("file")},
		"GET /v1/workflows":                     {handler: s.workflows, query: words("limit", "cursor")},
		"POST /v1/executions":                   {handler: s.start},
		"GET /v1/executions":                    {handler: s.list, query: words("workflow", "status", "outcome", "parent", "label", "open", "stuck", "limit", "cursor")},
		"GET /v1/executions/{id}":               {handler: s.get, query: words("wait")},
		"GET /v1/executions/{id}/history":       {handler: s.history, query: words("after")},
		"GET /v1/executions/{id}/proof":         {handler: s.proof},
		"POST /v1/executions/{id}/redrive":      {handler: s.redrive},
		"POST /v1/executions/{id}/signals":      {handler: s.signal},
		"POST /v1/executions/{id}/cancel":       {handler: s.cancel},
		"POST /v1/executions/{id}/moves":        {handler: s.move},
		"POST /v1/executions/{id}/tasks/{step}": {handler: s.decide},
		"GET /v1/tasks":                         {handler: s.tasks, query: words("workflow", "limit", "cursor")},
		"POST /v1/callbacks/{token}":            {handler: s.callback},
		"POST /v1/events":                       {handler: s.publish},
		"GET /v1/deadletters":                   {handler: s.letters, query: words("limit", "cursor")},
		"GET /v1/deadletters/{letter}":          {handler: s.letter},
		"POST /v1/deadletters/{letter}/redrive": {handler: s.redriveLetter},
		"POST /v1/deadletters/{letter}/drop":    {handler: s.dropLetter},
		"POST /hooks/{path...}":                 {handler: s.hook, open: true},
		"GET /v1/health":                        {handler: s.health},
	}
}

func words(list ...string) []string { return list }

// handler answers a request: with something to be written as JSON, or an error.
type handler func(r *http.Request) (answer, error)

// route is a handler and the words that the query of its requests may have.
type route struct {
	handler
	query []string
	// open takes whatever is sent: the sender is a service that nobody here has a say in, and proves itself by what it sends.
	open bool
}

type answer struct {
	status int
	body   any
	header http.Header
}

func ok(body any) (answer, error) { return answer{status: http.StatusOK, body: body}, nil }

func accepted() (answer, error) {
	return answer{status: http.StatusAccepted, body: map[string]bool{"accepted": true}}, nil
}

func problem(status int, code, title, detail string) error {
	return &client.Problem{Status: status, Code: code, Title: title, Detail: detail}
}

func (s *Server) wrap(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, err := h(r)
		if err != nil {
			p := s.problemOf(r, err)
			a.status, a.body = p.Status, p
		}
		maps.Copy(w.Header(), a.header)
		w.Header().Set("Content-Type", "application/json")
		if a.status/100 != 2 {
			w.Header().Set("Content-Type", "application/problem+json")
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(a.status)
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(a.body) // the client is gone if this fails
	})
}

// guard keeps pages of other sites from using a server on this machine: they can send no JSON and no YAML without asking first, and this
// server never agrees. What the route does not take is refused, so that a misspelt word is not lost in silence.
func (to route) guard(r *http.Request) (answer, error) {
	if to.open {
		return to.handler(r)
	}
	if r.Method == http.MethodPost {
		kind := r.Header.Get("Content-Type")
		switch plain, _, _ := mime.ParseMediaType(kind); plain { // most clients add a charset
		case "application/json", "application/yaml":
		default:
			return answer{}, problem(http.StatusUnsupportedMediaType, "media_type", "the body must be application/json or application/yaml", fmt.Sprintf("it is %q", kind))
		}
		r.Body = http.MaxBytesReader(nil, r.Body, maxBody)
	}
	if err := checkQuery(r, to.query); err != nil {
		return answer{}, err
	}
	return to.handler(r)
}

// problemOf says what went wrong in the client's words, and logs what is the server's fault.
func (s *Server) problemOf(r *http.Request, err error) *client.Problem {
	var p *client.Problem
	var reused *worker.KeyReusedError
	var unknown *worker.UnknownWorkflowError
	var refused *engine.RefusedError
	var corrupt *eventstore.CorruptError
	var typed *workflow.Error
	var ended *worker.EndedError
	var taken *worker.WebhookTakenError
	var crowded *worker.CrowdedError
	var quota *eventstore.QuotaError
	var limit *eventstore.LimitError
	var invalid *eventstore.InvalidError
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, worker.ErrToken):
		return &client.Problem{Status: http.StatusForbidden, Code: "token", Title: "the callback token is not valid"}
	case errors.Is(err, worker.ErrNoExecution):
		return &client.Problem{Status: http.StatusNotFound, Code: "execution.unknown", Title: "there is no execution " + clip(workflow.Named(r.PathValue("id")))}
	case errors.As(err, &unknown):
		return &client.Problem{Status: http.StatusNotFound, Code: "workflow.unknown", Title: unknown.Error()}
	case errors.As(err, &reused):
		return &client.Problem{Status: http.StatusConflict, Code: "key.reused", Title: reused.Error()}
	case errors.As(err, &crowded):
		return &client.Problem{Status: http.StatusConflict, Code: "trigger.crowded", Title: crowded.Error()}
	case errors.As(err, &taken):
		return &client.Problem{Status: http.StatusConflict, Code: "webhook.taken", Title: taken.Error()}
	case errors.As(err, &ended):
		return &client.Problem{Status: http.StatusConflict, Code: "execution.ended", Title: ended.Error(), State: strings.ToLower(ended.Status), Outcome: ended.Outcome}
	case errors.As(err, &refused):
		return &client.Problem{Status: http.StatusConflict, Code: "refused", Title: refused.Reason}
	case errors.As(err, &corrupt):
		return &client.Problem{Status: http.StatusInternalServerError, Code: "history.corrupt", Title: corrupt.Error()}
	case errors.As(err, &typed):
		return &client.Problem{Status: http.StatusBadRequest, Code: typed.Code, Title: typed.Message}
	case errors.As(err, &quota):
		return &client.Problem{Status: http.StatusTooManyRequests, Code: "event.quota", Title: quota.Error()}
	case errors.As(err, &large):
		return &client.Problem{Status: http.StatusRequestEntityTooLarge, Code: "too_large", Title: fmt.Sprintf("the body has more than %d bytes", large.Limit)}
	case errors.Is(err, worker.ErrEventTooLarge):
		return &client.Problem{Status: http.StatusRequestEntityTooLarge, Code: "payload.too_large", Title: fmt.Sprintf("the data of an event has %d bytes at most", engine.MaxValue)}
	case errors.As(err, &limit):
		return &client.Problem{Status: http.StatusBadRequest, Code: "invalid", Title: limit.Error()}
	case errors.As(err, &invalid):
		return &client.Problem{Status: http.StatusBadRequest, Code: "invalid", Title: invalid.Error()}
	case errors.Is(err, eventstore.ErrUnavailable), errors.Is(err, eventstore.ErrUnknownOutcome), errors.Is(err, worker.ErrContended):
		return &client.Problem{Status: http.StatusServiceUnavailable, Code: "unavailable", Title: "try again: " + err.Error()}
	}
	if r.Context().Err() == nil && s.Log != nil {
		s.Log.Error("request failed", "method", r.Method, "path", r.URL.Path, "cause", err)
	}
	return &client.Problem{Status: http.StatusInternalServerError, Code: "internal", Title: "the server failed; its log says why"}
}

// clip bounds what is echoed of a request.
func clip(text string) string {
	const most = 200
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// read decodes a JSON body; unknown fields are refused, so that a misspelt one is not lost in silence.
func read(r *http.Request, v any) error {
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return err
		}
		return problem(http.StatusBadRequest, "body", "the body is not what this address takes", err.Error())
	}
	if _, err := dec.Token(); err != io.EOF {
		return problem(http.StatusBadRequest, "body", "the body is more than one JSON value", "")
	}
	return nil
}

func (s *Server) stream(r *http.Request) eventstore.Stream {
	return eventstore.Stream{Tenant: s.Tenant, ID: workflow.Named(r.PathValue("id"))}
}

func (s *Server) health(*http.Request) (answer, error) { return ok(map[string]string{"status": "ok"}) }
