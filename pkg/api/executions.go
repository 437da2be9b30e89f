package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

func (s *Server) start(r *http.Request) (answer, error) {
	var in client.StartRequest
	if err := read(r, &in); err != nil {
		return answer{}, err
	}
	if in.Workflow == "" {
		return answer{}, problem(http.StatusBadRequest, "body", "workflow is missing", `write {"workflow": "name", "input": …}`)
	}
	req := worker.StartRequest{Tenant: s.Tenant, Workflow: in.Workflow, Version: in.Version, Key: in.Key, Input: workflow.Value(in.Input), Correlation: in.Correlation, By: s.by("")}
	for key, value := range in.Labels { // order-free: sorted below
		req.Labels = append(req.Labels, workflow.Label{Key: key, Value: value})
	}
	sort.Slice(req.Labels, func(i, j int) bool { return req.Labels[i].Key < req.Labels[j].Key })
	started, err := s.Worker.Start(r.Context(), req)
	if err != nil {
		return answer{}, err
	}
	return s.started(r, started)
}

// started answers with what the index says of an execution that has just begun; only of one that has ended there is more to say.
func (s *Server) started(r *http.Request, to worker.Started) (answer, error) {
	stream := eventstore.Stream{Tenant: s.Tenant, ID: to.Execution}
	view := ViewRow(to.Row)
	if !to.Row.Open {
		whole, err := s.view(r.Context(), stream)
		if err != nil {
			return answer{}, err
		}
		view = *whole
	}
	if to.Existed {
		return ok(view)
	}
	return answer{status: http.StatusCreated, body: view}, nil
}

// patience is how long a request waits for an execution to end.
const patience = 30 * time.Second

func (s *Server) get(r *http.Request) (answer, error) {
	stream := s.stream(r)
	wait, err := boolean(r, "wait")
	if err != nil {
		return answer{}, err
	}
	if wait != nil && *wait && s.Watch != nil {
		if err := s.wait(r.Context(), stream); err != nil {
			return answer{}, err
		}
	}
	view, err := s.view(r.Context(), stream)
	return answer{status: http.StatusOK, body: view}, err
}

// wait returns when an execution has ended, or when patience is at its end.
func (s *Server) wait(ctx context.Context, stream eventstore.Stream) error {
	over := time.NewTimer(patience)
	defer over.Stop()
	for {
		moved := s.Watch(stream) // before the read: what happens in between closes it
		row, err := s.Worker.Store.Row(ctx, stream)
		switch {
		case err == nil && !row.Open:
			return nil
		case errors.Is(err, eventstore.ErrNotFound):
			if !strings.Contains(stream.ID, "~") { // NAME~2 goes on for NAME, and is about to start
				return nil
			}
		case err != nil:
			return err
		}
		select {
		case <-moved:
		case <-over.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Server) view(ctx context.Context, stream eventstore.Stream) (*client.Execution, error) {
	snap, err := s.Worker.Inspect(ctx, stream)
	if err != nil {
		return nil, err
	}
	return view(ctx, s.Worker, snap, s.MaxAnswer)
}

// View is what people see of an execution.
func View(ctx context.Context, w *worker.Worker, snap *worker.Snapshot) (*client.Execution, error) {
	return view(ctx, w, snap, 0)
}

// view is View in an answer of at most some bytes; 0: no matter how many.
func view(ctx context.Context, w *worker.Worker, snap *worker.Snapshot, most int) (*client.Execution, error) {
	e := &client.Execution{
		ID: snap.Execution, Workflow: snap.Workflow, Version: snap.Definition, Status: strings.ToLower(snap.Status.String()), Outcome: worker.Outcome(snap.State),
		Error: snap.Error, Correlation: snap.Correlation, Events: snap.Version, Labels: labels(snap.Labels),
		StartedAt: moment(snap.CreatedAt), UpdatedAt: moment(snap.At), EndedAt: moment(snap.EndedAt), WakesAt: moment(snap.Wake),
	}
	if e.Error == nil && snap.Ending != nil && snap.Status.Terminal() {
		e.Error = snap.Ending.Error
	}
	e.FailedStep, e.Held = failedStep(snap.State), held(snap.State)
	if snap.Origin.Redrive != nil {
		e.RedriveOf = snap.Origin.Redrive.Of
	}
	if snap.Origin.Parent != nil {
		e.Parent = snap.Origin.Parent.Execution
	}
	if snap.Next != nil {
		e.Next = snap.Next.Execution
	}
	for _, reason := range snap.Waiting {
		e.Waiting = append(e.Waiting, reason.String())
	}
	e.Tasks = openTasks(snap)
	left := math.MaxInt
	if most > 0 {
		rest, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}
		left = most - escaped(rest)
	}
	var err error
	if e.Output, err = shown(ctx, w, snap.Tenant, snap.Output, left); err != nil {
		return nil, err
	}
	e.Input, err = shown(ctx, w, snap.Tenant, snap.Input, left-escaped(e.Output))
	return e, err
}

// openTasks are the decisions that an execution waits for.
func openTasks(snap *worker.Snapshot) (list []client.Task) {
	for _, c := range snap.Commands {
		if t, ok := c.(workflow.AwaitTask); ok {
			list = append(list, client.Task{Execution: snap.Execution, Step: t.Step, Title: t.Title, Assignees: t.Assignees, CreatedAt: moment(t.CreatedAt), DueAt: moment(t.DueAt)})
		}
	}
	return list
}

// escaped is how many bytes a JSON text has as a text inside JSON.
func escaped(text []byte) int {
	n := len(text) + bytes.Count(text, []byte(`"`)) + bytes.Count(text, []byte(`\`))
	for _, line := range []string{"\u2028", "\u2029"} { // three bytes each, and six escaped
		n += 3 * bytes.Count(text, []byte(line))
	}
	return n
}

// failedStep is the step whose failure decided the outcome: of that and of those inside it, the one that failed first.
func failedStep(s *workflow.State) string {
	if s.Ending == nil || s.Ending.Step == "" {
		return ""
	}
	for _, f := range s.Failures {
		if strings.HasPrefix(f.Step, s.Ending.Step+"/") {
			return f.Step
		}
	}
	return s.Ending.Step
}

// held are the failures that an operator has to decide about.
func held(s *workflow.State) []client.Held {
	var out []client.Held
	for _, h := range s.Held {
		out = append(out, client.Held{Step: h.Step, Error: h.Error})
	}
	if h := s.Stopped; h != nil {
		step, undo := strings.CutSuffix(h.Step, "!undo")
		out = append(out, client.Held{Step: step, Undo: undo, Error: h.Error})
	}
	return out
}

// shown is a payload for people; one that is too large for an answer with so many bytes left shows where it is kept.
func shown(ctx context.Context, w *worker.Worker, tenant string, p workflow.Payload, left int) (json.RawMessage, error) {
	if p.IsZero() {
		return json.RawMessage("null"), nil
	}
	text, err := w.Text(ctx, tenant, p, min(maxShown, int64(max(0, left))))
	if err == nil && escaped(text) <= left {
		return text, nil
	}
	return json.Marshal(p)
}

func moment(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

func labels(list []workflow.Label) map[string]string {
	if len(list) == 0 {
		return nil
	}
	out := make(map[string]string, len(list))
	for _, l := range list {
		out[l.Key] = l.Value
	}
	return out
}

func (s *Server) list(r *http.Request) (answer, error) {
	page, err := pageOf(r)
	if err != nil {
		return answer{}, err
	}
	f, err := filterOf(r)
	if err != nil {
		return answer{}, err
	}
	stuck, err := boolean(r, "stuck")
	if err != nil {
		return answer{}, err
	}
	look := s.Worker.Store.List
	if stuck != nil && *stuck { // found by when the sweep looks at them next: no list has to be gone through
		look = func(ctx context.Context, tenant string, f eventstore.Filter, p eventstore.Page) ([]eventstore.Row, string, error) {
			rows, next, err := s.Worker.Stuck(ctx, tenant, p)
			return slices.DeleteFunc(rows, func(row eventstore.Row) bool { return !f.Accepts(row) }), next, err
		}
	}
	rows, next, err := look(r.Context(), s.Tenant, f, page)
	if err != nil {
		return answer{}, err
	}
	out := client.Page[client.Execution]{Items: []client.Execution{}, Next: next}
	for _, row := range rows {
		out.Items = append(out.Items, ViewRow(row))
	}
	return ok(out)
}

// ViewRow is what the index says of an execution.
func ViewRow(row eventstore.Row) client.Execution {
	return client.Execution{
		ID: row.Stream.ID, Workflow: row.Workflow, Version: strconv.FormatUint(row.Definition, 10), Status: strings.ToLower(row.Status), Outcome: row.Outcome,
		Repairs: row.Repairs,
		Parent:  row.Parent, Events: row.Version, StartedAt: moment(row.Started), UpdatedAt: moment(row.Updated), WakesAt: moment(row.Wake),
	}
}
