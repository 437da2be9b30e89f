package api

import (
	"errors"
	"net/http"
	"strings"

	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// redrive starts a new execution that goes on where an ended one failed or was cancelled.
func (s *Server) redrive(r *http.Request) (answer, error) {
	var in client.RedriveRequest
	if err := read(r, &in); err != nil {
		return answer{}, err
	}
	row, err := s.Worker.RowNow(r.Context(), s.stream(r))
	switch {
	case err != nil:
		return answer{}, err
	case row.Open:
		return answer{}, problem(http.StatusConflict, "execution.open", "the execution is still open", "redrive goes on where an execution has ended; cancel it first, or wait")
	case row.Outcome == "completed":
		return answer{}, problem(http.StatusConflict, "execution.completed", "the execution completed", "there is nothing to go on with; start a new one")
	}
	req := worker.RedriveRequest{Stream: row.Stream, Key: in.Key, Version: in.Version, From: in.From, By: s.by(in.By)}
	if len(in.Input) > 0 {
		input, err := payload(in.Input)
		if err != nil {
			return answer{}, err
		}
		req.Input = &input
	}
	started, err := s.Worker.Redrive(r.Context(), req)
	if err != nil {
		if known(err) {
			return answer{}, err
		}
		return answer{}, problem(http.StatusConflict, "redrive.refused", strings.TrimPrefix(err.Error(), "engine: "), "")
	}
	return s.started(r, started)
}

// known reports whether an error says more by its type than by its text.
func known(err error) bool {
	return errors.As(err, new(*workflow.Error)) || errors.As(err, new(*worker.UnknownWorkflowError)) || errors.As(err, new(*worker.KeyReusedError)) || errors.Is(err, eventstore.ErrUnavailable) ||
		errors.Is(err, eventstore.ErrUnknownOutcome) || errors.Is(err, worker.ErrContended)
}

// proof checks the chain of a history.
func (s *Server) proof(r *http.Request) (answer, error) {
	stream := s.stream(r)
	p, err := eventstore.Verify(r.Context(), s.Worker.Store, stream)
	if err != nil {
		return answer{}, err
	}
	if p.Commits == 0 {
		return answer{}, worker.ErrNoExecution
	}
	return ok(client.Proof{Execution: stream.ID, Commits: p.Commits, Events: p.Last, Hash: p.Hash.String()})
}
