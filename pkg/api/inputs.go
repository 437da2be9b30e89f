package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/schema"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// ask hands an input to an execution that must exist. One that it would refuse now is refused at once, for later nobody could be told.
func (s *Server) ask(r *http.Request, in workflow.Input) (answer, error) {
	return s.hand(r, s.stream(r), in)
}

func (s *Server) hand(r *http.Request, stream eventstore.Stream, in workflow.Input) (answer, error) {
	if err := s.Worker.Check(r.Context(), stream, in); err != nil {
		return answer{}, err
	}
	if err := s.Ask(r.Context(), stream, in); err != nil {
		return answer{}, err
	}
	return accepted()
}

// id is the client's ID of an input, or a new one.
func (s *Server) id(given string) string {
	if given == "" {
		return s.Worker.Entropy.ID()
	}
	return given
}

// by is who sends an input, for the history: whoever the body names, who may stand behind an application, and always the principal
// who was let in.
func (s *Server) by(named string) string {
	switch {
	case s.Principal == "" || named == s.Principal:
		return named
	case named == "":
		return s.Principal
	}
	return named + " (" + s.Principal + ")"
}

func payload(text json.RawMessage) (workflow.Payload, error) {
	if len(text) == 0 {
		return workflow.Payload{}, nil
	}
	v, err := expr.Canonical(text)
	return workflow.Inline(v), err
}

// small is payload for what stands in the history as it is.
func small(what string, text json.RawMessage) (workflow.Payload, error) {
	p, err := payload(text)
	if err == nil && len(p.JSON) > engine.MaxValue {
		return p, &client.Problem{Status: http.StatusRequestEntityTooLarge, Code: "payload.too_large",
			Title: fmt.Sprintf("%s has %d bytes, more than %d: keep it elsewhere and send its address", what, len(p.JSON), engine.MaxValue)}
	}
	return p, err
}

func (s *Server) signal(r *http.Request) (answer, error) {
	in, err := s.readSignal(r)
	if err != nil {
		return answer{}, err
	}
	data, err := small("the data", in.Data)
	if err != nil {
		return answer{}, err
	}
	return s.ask(r, workflow.ExternalEvent{EarlyEvent: workflow.EarlyEvent{ID: in.ID, Kind: in.Type, Key: in.Key, Source: in.Source, From: in.From, Data: data, ReceivedAt: s.Worker.Clock.Now()}})
}

// ways are how events come, as steps of kind event name them.
var ways = []string{"bus", "webhook", "queue", "file"}

func (s *Server) readSignal(r *http.Request) (client.Signal, error) {
	var in client.Signal
	if err := read(r, &in); err != nil {
		return in, err
	}
	if in.Type == "" {
		return in, problem(http.StatusBadRequest, "body", "type is missing", `write {"type": "PaymentReceived", "key": "…", "data": …}`)
	}
	if in.From != "" && !slices.Contains(ways, in.From) {
		return in, problem(http.StatusBadRequest, "body", "from must be bus, webhook, queue or file", "it is how the event came; a step that says `from` takes no others")
	}
	in.ID = s.id(in.ID)
	return in, nil
}

func (s *Server) publish(r *http.Request) (answer, error) {
	in, err := s.readSignal(r)
	if err != nil {
		return answer{}, err
	}
	data, err := small("the data", in.Data)
	if err != nil {
		return answer{}, err
	}
	if err := s.Worker.Publish(r.Context(), s.Tenant, worker.Event{ID: in.ID, Type: in.Type, Key: in.Key, Source: in.Source, From: cmp.Or(in.From, "bus"), Data: data}); err != nil {
		return answer{}, err
	}
	return accepted()
}

func (s *Server) cancel(r *http.Request) (answer, error) {
	var in client.CancelRequest
	if err := read(r, &in); err != nil {
		return answer{}, err
	}
	mode := workflow.CancelMode(in.Mode)
	if mode == "" {
		mode = workflow.CancelImmediate
	}
	if !slices.Contains([]workflow.CancelMode{workflow.CancelImmediate, workflow.CancelGraceful, workflow.CancelCompensated}, mode) {
		return answer{}, problem(http.StatusBadRequest, "body", "mode must be immediate, graceful or compensated", "")
	}
	return s.ask(r, workflow.Cancel{ID: s.id(in.ID), Origin: workflow.OriginUser, Mode: mode, Reason: in.Reason, By: s.by("")})
}

func (s *Server) move(r *http.Request) (answer, error) {
	var in client.OperatorMove
	if err := read(r, &in); err != nil {
		return answer{}, err
	}
	move := workflow.Move(in.Move)
	if !slices.Contains([]workflow.Move{workflow.MoveRetry, workflow.MoveComplete, workflow.MoveSkip, workflow.MoveFail, workflow.MoveResume}, move) {
		return answer{}, problem(http.StatusBadRequest, "body", "move must be retry, complete, skip, fail or resume", "")
	}
	if in.Error != nil {
		if err := checkError(in.Error); err != nil {
			return answer{}, err
		}
	}
	output, err := small("the output", in.Output)
	if err != nil {
		return answer{}, err
	}
	return s.ask(r, workflow.OperatorMove{ID: s.id(in.ID), Move: move, Step: in.Step, By: s.by(in.By), Output: output, Error: in.Error})
}

func (s *Server) decide(r *http.Request) (answer, error) {
	var in client.Decision
	if err := read(r, &in); err != nil {
		return answer{}, err
	}
	verdict := workflow.Verdict(in.Verdict)
	if !slices.Contains([]workflow.Verdict{workflow.VerdictApprove, workflow.VerdictReject, workflow.VerdictReassign}, verdict) {
		return answer{}, problem(http.StatusBadRequest, "body", "verdict must be approve, reject or reassign", "")
	}
	snap, err := s.Worker.Inspect(r.Context(), s.stream(r))
	if err != nil {
		return answer{}, err
	}
	step := workflow.Named(r.PathValue("step"))
	task, open := taskAt(snap.Commands, step)
	if engine.Took(snap.State, in.ID) {
		return accepted()
	}
	if snap.Status.Terminal() {
		return answer{}, &worker.EndedError{Execution: snap.Execution, Status: snap.Status.String(), Outcome: worker.Outcome(snap.State)}
	}
	if !open {
		return answer{}, problem(http.StatusConflict, "task.closed", "there is no open task at step "+step, "list the open ones at /v1/tasks")
	}
	data, err := small("the answer", in.Answer)
	if err != nil {
		return answer{}, err
	}
	if verdict == workflow.VerdictApprove {
		if wrong := schema.New().Check(task.Form, data.JSON, "task.answer", "the answer"); wrong != nil {
			return answer{}, wrong
		}
	}
	return s.ask(r, workflow.TaskDecision{ID: s.id(in.ID), Step: step, By: s.by(in.By), Verdict: verdict, Answer: data, Comment: in.Comment, To: in.To})
}

func taskAt(commands []workflow.Command, step string) (workflow.AwaitTask, bool) {
	for _, c := range commands {
		if t, ok := c.(workflow.AwaitTask); ok && t.Step == step {
			return t, true
		}
	}
	return workflow.AwaitTask{}, false
}

// tasks lists the open tasks of waiting executions: of a page of executions, so a page of tasks can be short or empty with more to come.
func (s *Server) tasks(r *http.Request) (answer, error) {
	page, err := pageOf(r)
	if err != nil {
		return answer{}, err
	}
	rows, next, err := s.Worker.Store.List(r.Context(), s.Tenant, eventstore.Filter{OpenOnly: true, Workflow: r.URL.Query().Get("workflow")}, page)
	if err != nil {
		return answer{}, err
	}
	out := client.Page[client.Task]{Items: []client.Task{}, Next: next}
	for _, row := range rows {
		snap, err := s.Worker.Inspect(r.Context(), row.Stream)
		if err != nil {
			return answer{}, err
		}
		out.Items = append(out.Items, openTasks(snap)...)
	}
	return ok(out)
}

// callback takes the answer of a call that was only started.
func (s *Server) callback(r *http.Request) (answer, error) {
	tokens, err := s.Tokens(r.Context())
	if err != nil {
		return answer{}, err
	}
	stream, ref, err := tokens.Check(r.PathValue("token"))
	if err != nil {
		return answer{}, err
	}
	var in client.CallbackAnswer
	if err := read(r, &in); err != nil {
		return answer{}, err
	}
	result := workflow.ActivityResult{AttemptRef: ref, Error: in.Error}
	if in.Error == nil {
		if result.Output, err = payload(in.Output); err != nil {
			return answer{}, err
		}
		if result.Output.IsZero() {
			result.Output = workflow.Inline(workflow.Null)
		}
	} else if err := checkError(in.Error); err != nil {
		return answer{}, err
	}
	if result, err = s.Worker.Answer(r.Context(), stream, result); err != nil {
		return answer{}, err
	}
	return s.hand(r, stream, result)
}

// checkError refuses an error that no activity could have; one that names no category is the activity's own, as that of a program is.
func checkError(e *workflow.Error) error {
	if e.Category == "" {
		e.Category = workflow.CategoryActivity
	}
	if e.Code == "" || !e.Category.Valid() {
		return problem(http.StatusBadRequest, "body", "error needs a code, and no other category than there are", "category is activity (the default), workflow, infrastructure or external")
	}
	return nil
}
