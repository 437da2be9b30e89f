package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"unicode/utf8"

	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

func (s *Server) letters(r *http.Request) (answer, error) {
	page, err := pageOf(r)
	if err != nil {
		return answer{}, err
	}
	list, next, err := s.Worker.Store.DeadLetters(r.Context(), s.Tenant, page)
	if err != nil {
		return answer{}, err
	}
	out := client.Page[client.DeadLetter]{Items: []client.DeadLetter{}, Next: next}
	for _, d := range list {
		out.Items = append(out.Items, viewLetter(d))
	}
	return ok(out)
}

// named finds the letter of a request: its ID as it stands in the address or, where that stands for another, with slashes.
func (s *Server) named(r *http.Request) (eventstore.DeadLetter, error) {
	id := r.PathValue("letter")
	d, err := s.Worker.Store.DeadLetter(r.Context(), s.Tenant, id)
	if other := workflow.Named(id); errors.Is(err, eventstore.ErrNotFound) && other != id {
		return s.Worker.Store.DeadLetter(r.Context(), s.Tenant, other)
	}
	return d, err
}

func (s *Server) letter(r *http.Request) (answer, error) {
	d, err := s.named(r)
	if err != nil {
		return answer{}, letterError(r, err)
	}
	out := viewLetter(d)
	if in := worker.LetterInput(d); in != nil {
		out.Message, err = json.Marshal(in)
	} else if utf8.Valid(d.Body) && len(d.Body) > 0 {
		out.Message, err = json.Marshal(string(d.Body))
	}
	if err != nil {
		return answer{}, err
	}
	return ok(out)
}

func viewLetter(d eventstore.DeadLetter) client.DeadLetter {
	return client.DeadLetter{ID: d.ID, Execution: d.Execution, Queue: d.Queue, Code: d.Code, Cause: d.Cause, At: moment(d.At)}
}

func (s *Server) redriveLetter(r *http.Request) (answer, error) {
	var in client.LetterMove
	if err := read(r, &in); err != nil {
		return answer{}, err
	}
	d, err := s.named(r)
	if err == nil {
		err = s.Worker.Redeliver(r.Context(), s.Tenant, d.ID, s.Ask)
	}
	if err != nil {
		return answer{}, letterError(r, err)
	}
	return accepted()
}

func (s *Server) dropLetter(r *http.Request) (answer, error) {
	var in client.LetterMove
	if err := read(r, &in); err != nil {
		return answer{}, err
	}
	if in.Reason == "" {
		return answer{}, problem(http.StatusBadRequest, "body", "reason is missing", "a letter that is dropped is gone for good: say why, for the log")
	}
	d, err := s.named(r)
	if err == nil {
		err = s.Worker.DropLetter(r.Context(), s.Tenant, d.ID, s.by(in.By), in.Reason)
	}
	if err != nil {
		return answer{}, letterError(r, err)
	}
	return accepted()
}

// letterError says which letter there is not, or why one cannot be sent again.
func letterError(r *http.Request, err error) error {
	var never *worker.UndeliverableError
	switch {
	case errors.Is(err, eventstore.ErrNotFound):
		return problem(http.StatusNotFound, "deadletter.unknown", "there is no dead letter "+clip(r.PathValue("letter")), "list them at /v1/deadletters")
	case errors.Is(err, worker.ErrNoExecution):
		return problem(http.StatusConflict, "refused", "there is no such execution", "drop the letter")
	case errors.As(err, &never):
		return problem(http.StatusConflict, "refused", never.Error(), "")
	}
	return err
}
