package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/node"
	"github.com/wovyr/wovyr/pkg/schema"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// answers decides the tasks of people during `wovyr run`: as flags said in advance, else by asking at the terminal, else it says how
// to decide them from another terminal.
type answers struct {
	approve, reject []string // steps, by path or name
	answer          []string // step=JSON: an approval with this answer
	all             bool     // approve what nothing else is said about
	hint            string   // the flags by which other terminals name the store

	node     *node.Node
	progress *progress
	lines    <-chan string // of the terminal; nil: there is none
	wake     chan struct{}
	known    map[openTask]bool
	forms    *schema.Checker
}

type openTask struct {
	execution, step string
	created         int64
}

// plan checks the flags and gives each step its decision.
func (a *answers) plan(env Environment) (map[string]workflow.TaskDecision, error) {
	out := map[string]workflow.TaskDecision{}
	add := func(step string, d workflow.TaskDecision) error {
		if _, twice := out[step]; twice {
			return misuse{fmt.Errorf("step %s is decided twice: give it one of --approve, --reject and --answer", step)}
		}
		out[step] = d
		return nil
	}
	var errs []error
	for _, step := range a.approve {
		errs = append(errs, add(step, workflow.TaskDecision{Verdict: workflow.VerdictApprove}))
	}
	for _, step := range a.reject {
		errs = append(errs, add(step, workflow.TaskDecision{Verdict: workflow.VerdictReject}))
	}
	for _, text := range a.answer {
		step, text, ok := strings.Cut(text, "=")
		if !ok {
			return nil, misuse{fmt.Errorf("--answer %s: write --answer %[1]s='{…}'", step)}
		}
		value, err := readInput(env, "--answer "+step, text)
		if err != nil {
			return nil, err
		}
		errs = append(errs, add(step, workflow.TaskDecision{Verdict: workflow.VerdictApprove, Answer: workflow.Inline(value)}))
	}
	return out, errors.Join(errs...)
}

// prepare ties the answers to a node. The terminal is asked where standard input and standard error are one.
func (a *answers) prepare(env Environment, n *node.Node, p *progress, data string) {
	a.node, a.progress, a.hint = n, p, dataFlag(data)
	a.wake, a.known, a.forms = make(chan struct{}, 1), map[openTask]bool{}, schema.New()
	p.opened = a.opened
	if env.Interactive {
		a.lines = linesOf(env.In)
	}
}

// run decides the tasks of an execution and its children until ctx ends.
func (a *answers) run(ctx context.Context, root string, plan map[string]workflow.TaskDecision) error {
	for {
		tasks, err := a.open(ctx, root)
		if err != nil {
			return err
		}
		for _, t := range tasks {
			if err := a.settle(ctx, t, plan); err != nil {
				return err
			}
		}
		select {
		case <-a.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// opened hears that there may be a new task. It does not wait.
func (a *answers) opened() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

type taskOf struct {
	workflow.AwaitTask
	stream eventstore.Stream
}

// open finds the open tasks of an execution and its children that were not seen before.
func (a *answers) open(ctx context.Context, id string) ([]taskOf, error) {
	stream := eventstore.Stream{Tenant: node.Tenant, ID: id}
	snap, err := a.node.Worker.Inspect(ctx, stream)
	if errors.Is(err, worker.ErrNoExecution) {
		return nil, nil // one that goes on for another is about to start
	}
	if err != nil {
		return nil, err
	}
	var out []taskOf
	for _, c := range snap.Commands {
		t, ok := c.(workflow.AwaitTask)
		if key := (openTask{id, t.Step, t.CreatedAt}); ok && !a.known[key] {
			a.known[key] = true
			out = append(out, taskOf{t, stream})
		}
	}
	for page := (eventstore.Page{}); ; {
		rows, next, err := a.node.Store.List(ctx, node.Tenant, eventstore.Filter{Parent: id, OpenOnly: true}, page)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			below, err := a.open(ctx, row.Stream.ID)
			if err != nil {
				return nil, err
			}
			out = append(out, below...)
		}
		if next == "" {
			return out, nil
		}
		page.Cursor = next
	}
}

func (a *answers) settle(ctx context.Context, t taskOf, plan map[string]workflow.TaskDecision) error {
	d, planned := plan[t.Step]
	if !planned {
		d, planned = plan[t.Step[strings.LastIndexByte(t.Step, '/')+1:]]
	}
	if !planned && a.all {
		d, planned = workflow.TaskDecision{Verdict: workflow.VerdictApprove}, true
	}
	switch {
	case planned && (d.Verdict == workflow.VerdictReject || a.forms.Fits(t.Form, d.Answer.JSON)):
		return a.decide(ctx, t, d)
	case planned:
		a.progress.say("  %s is not approved: %s\n", t.Step, a.forms.Check(t.Form, d.Answer.JSON, "task.answer", "the answer").Message)
	}
	if a.lines != nil {
		answered, err := a.question(ctx, t)
		if answered || err != nil {
			return err
		}
	}
	a.progress.say("  decide it from another terminal, by one of\n    %s task approve %s %s%s\n    %s task reject %s %s%s\n",
		program(), t.stream.ID, t.Step, a.hint, program(), t.stream.ID, t.Step, a.hint)
	return nil
}

func (a *answers) decide(ctx context.Context, t taskOf, d workflow.TaskDecision) error {
	d.ID, d.Step, d.By = a.node.Worker.Entropy.ID(), t.Step, user()
	return a.node.Ask(ctx, t.stream, d)
}

// question asks at the terminal until the task is decided, here or in another way. It reports false if the terminal is gone.
func (a *answers) question(ctx context.Context, t taskOf) (bool, error) {
	for {
		a.progress.say("  %s [y = approve, n = reject] ", visible(t.Title))
		line, err := a.line(ctx, t)
		switch {
		case errors.Is(err, errClosed):
			return true, nil
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, err
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			d := workflow.TaskDecision{Verdict: workflow.VerdictApprove}
			if !a.forms.Fits(t.Form, nil) {
				if d.Answer, err = a.fill(ctx, t); err != nil {
					a.progress.say("  %v\n", err)
					continue
				}
			}
			return true, a.decide(ctx, t, d)
		case "n", "no":
			return true, a.decide(ctx, t, workflow.TaskDecision{Verdict: workflow.VerdictReject})
		}
	}
}

// fill asks for what the task's form asks for.
func (a *answers) fill(ctx context.Context, t taskOf) (workflow.Payload, error) {
	a.progress.say("  It asks for %s\n  Answer as JSON: ", t.Form)
	line, err := a.line(ctx, t)
	if err != nil {
		return workflow.Payload{}, err
	}
	value, err := expr.Canonical([]byte(line))
	if err != nil {
		return workflow.Payload{}, err
	}
	if wrong := a.forms.Check(t.Form, value, "task.answer", "the answer"); wrong != nil {
		return workflow.Payload{}, wrong
	}
	return workflow.Inline(value), nil
}

// errClosed says that a task was decided in another way while the terminal was asked.
var errClosed = errors.New("it is decided already")

// line reads a line, unless the task is closed meanwhile.
func (a *answers) line(ctx context.Context, t taskOf) (string, error) {
	for {
		moved := a.node.Watch(t.stream)
		snap, err := a.node.Worker.Inspect(ctx, t.stream)
		if err != nil {
			return "", err
		}
		if !slices.ContainsFunc(snap.Commands, func(c workflow.Command) bool {
			now, ok := c.(workflow.AwaitTask)
			return ok && now.Step == t.Step && now.CreatedAt == t.CreatedAt
		}) {
			a.progress.say("\n")
			return "", errClosed
		}
		select {
		case text, ok := <-a.lines:
			if !ok {
				return "", io.EOF
			}
			return text, nil
		case <-moved:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// linesOf reads lines in the background; the reader is left behind at the end of the process.
func linesOf(in io.Reader) <-chan string {
	out := make(chan string)
	go func() {
		defer close(out)
		for s := bufio.NewScanner(in); s.Scan(); {
			out <- s.Text()
		}
	}()
	return out
}
