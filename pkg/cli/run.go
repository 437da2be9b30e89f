package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wovyr/wovyr/pkg/api"
	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/sqlite"
	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/node"
	"github.com/wovyr/wovyr/pkg/project"
	"github.com/wovyr/wovyr/pkg/schema"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

type run struct {
	env     Environment
	answers answers
	input   string
	data    string
	key     string
	fresh   bool
	grace   time.Duration
}

func newRun(env Environment) *cobra.Command {
	r := &run{env: env}
	c := &cobra.Command{
		Use:   "run FILE...",
		Short: "Run a workflow here, durably",
		Long: `Deploys every document given into the store of a folder, starts the first one, and
runs it in this process until it has ended. Standard error shows what happens,
standard output gets one JSON object in the end:

  { "execution_id", "workflow", "version", "status", "outcome", "output", "error" }

Each step is on the disk before the next one starts. After Ctrl-C, a kill or a
power cut, run the same command again: it goes on where the execution stood, and
a step that is done is not done again. One that was under way may run again, with the
same idempotency key; idempotent: false prevents it. (A further execution with the same
input: --new.)

When a step waits for a person's decision, run asks at the terminal. Without one it
prints the command that decides from another terminal; --approve, --reject,
--answer and --approve-all decide in advance.

While it runs, the other commands work too, in the same folder or with --data DIR:

  wovyr list
  wovyr history EXECUTION
  wovyr task approve EXECUTION STEP
  wovyr signal EXECUTION TYPE

Functions are the std. ones, those that wovyr.yaml names, and those of a program
of your own on package pkg/cli.`,
		Example: `  wovyr run examples/order-saga.yaml
  wovyr run examples/order-saga.yaml --input '{"order_id": "o-2"}' --approve approve
  wovyr run parent.yaml child.yaml --input @order.json --data /var/lib/orders
  wovyr run order.yaml | jq .output`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("name at least one file; the first is run")
			}
			return oneInput(args)
		},
		ValidArgsFunction: documents,
		RunE:              func(c *cobra.Command, args []string) error { return r.run(c.Context(), args) },
	}
	c.Flags().StringVarP(&r.input, "input", "i", "{}", "the input: JSON, or @FILE")
	c.Flags().StringVar(&r.data, "data", "", "folder of the store (default that of wovyr.yaml, or .wovyr)")
	c.Flags().StringVar(&r.key, "key", "", "idempotency key: the same key finds the same execution")
	c.Flags().BoolVar(&r.fresh, "new", false, "start a further execution, even if one with this input is open")
	c.Flags().StringSliceVar(&r.answers.approve, "approve", nil, "approve the task of this `step` when it comes; may be repeated")
	c.Flags().BoolVar(&r.answers.all, "approve-all", false, "approve all tasks that the other flags do not name")
	c.Flags().StringSliceVar(&r.answers.reject, "reject", nil, "reject the task of this `step` when it comes; may be repeated")
	c.Flags().StringArrayVar(&r.answers.answer, "answer", nil, "approve the task of a step with what its form asks for: `step=JSON`, or step=@FILE")
	c.Flags().DurationVar(&r.grace, "grace", 10*time.Second, "how long running steps may go on after Ctrl-C")
	return c
}

func (r *run) run(ctx context.Context, files []string) error {
	input, err := readInput(r.env, "the input", r.input)
	if err != nil {
		return err
	}
	plan, err := r.answers.plan(r.env)
	if err != nil {
		return err
	}
	docs, err := compileAll(r.env, files)
	if err != nil {
		return err
	}
	if wrong := schema.New().Check(docs[0].definition.Input, input, "input.invalid", "the input"); wrong != nil {
		return errors.New(wrong.Message)
	}
	proj, err := project.Load(".")
	if err != nil {
		return err
	}
	ctx, stop := interruptible(ctx, r.env.Err, r.grace)
	defer stop()
	progress := newProgress(r.env)
	n, err := openNode(ctx, node.Options{Project: proj, Data: r.data, Functions: r.env.Functions, Committed: progress.committed, Trouble: trouble(r.env), Log: quietLog(r.env.Err), Standard: r.env.Standard})
	if err != nil {
		return err
	}
	r.answers.prepare(r.env, n, progress, r.data)
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- n.Run(work, r.grace)
		cancel() // it may have ended by itself
	}()
	view, err := r.follow(work, n, docs, input, plan)
	cancel()
	if runErr := <-ended; runErr != nil && (err == nil || errors.Is(err, context.Canceled)) {
		err = failure{runErr}
	}
	switch {
	case errors.Is(err, context.Canceled):
		if progress.execution != "" {
			fmt.Fprintf(r.env.Err, "Interrupted. Execution %s is kept: run the same command again, and it goes on.\n", progress.execution)
		}
		return errInterrupted
	case errors.As(err, new(*eventstore.CorruptError)):
		return fmt.Errorf("%s: %w", n.Store.File(), err)
	case err != nil:
		return err
	}
	return r.report(view)
}

// openNode opens a node. Who has the folder open already is said in the words of this program.
func openNode(ctx context.Context, o node.Options) (*node.Node, error) {
	n, err := node.Open(o)
	var locked *sqlite.LockedError
	if !errors.As(err, &locked) {
		return n, err
	}
	where := ""
	if at, _ := node.Find(ctx, locked.Folder); at != "" {
		where = ", which serves it at " + at
	}
	flags := dataFlag(o.Data)
	return nil, fmt.Errorf("the store in %s is open in process %s%s.\n"+
		"Look at it from here:  %[4]s list%[5]s\n"+
		"Start something there: %[4]s deploy FILE%[5]s, then %[4]s start WORKFLOW%[5]s\n"+
		"Or end that process:   kill %[2]s (what is open is kept)\n"+
		"Or use another folder: --data DIR", locked.Folder, locked.Process, where, program(), flags)
}

// dataFlag is the flag by which other commands find the same store.
func dataFlag(data string) string {
	if data == "" {
		return ""
	}
	return " --data " + data
}

// follow starts the execution, or finds the one that the same command left open, and waits for its end.
func (r *run) follow(ctx context.Context, n *node.Node, docs []document, input workflow.Value, plan map[string]workflow.TaskDecision) (*client.Execution, error) {
	var now uint64 // the version that the first file is
	for i, d := range docs {
		missing, err := absent(ctx, d, n.Kinds, n.Secrets)
		if err != nil {
			return nil, err
		}
		warnAbsent(r.env, d, missing)
		deployed, _, err := n.Worker.Deploy(ctx, node.Tenant, d.definition)
		if err != nil {
			return nil, ofStore(err)
		}
		if i == 0 {
			now = deployed.Version
		}
	}
	name := docs[0].definition.Name
	id, began, err := r.open(ctx, n, name, input)
	if err != nil {
		return nil, err
	}
	progress := r.answers.progress
	if id == "" {
		started, err := n.Worker.Start(ctx, worker.StartRequest{Tenant: node.Tenant, Workflow: name, Key: r.key, Input: input, By: startedBy})
		if err != nil {
			return nil, ofStore(err)
		}
		id, began = started.Execution, started.Definition
		progress.begin(id, name, began, started.Existed)
	} else {
		progress.begin(id, name, "", true)
	}
	if newest := strconv.FormatUint(now, 10); began != newest {
		progress.say("%s has changed since: this execution goes on by version %s, with which it began. The file is version %s now; %s.\n", docs[0].file, began, newest, r.another())
	}
	for {
		view, err := r.await(ctx, n, id, plan)
		if err != nil || view.Next == "" {
			return view, err
		}
		id = view.Next // continue_as_new: the work goes on there
		progress.begin(id, name, "", true)
	}
}

// another is how the user gets an execution of the file as it is now.
func (r *run) another() string {
	if r.key != "" {
		return "another --key starts an execution of that"
	}
	return "--new starts an execution of that"
}

// await waits for the end of one execution, and takes the decisions that it asks for meanwhile.
func (r *run) await(ctx context.Context, n *node.Node, id string, plan map[string]workflow.TaskDecision) (*client.Execution, error) {
	decided, cancel := context.WithCancel(ctx)
	defer cancel()
	stuck := make(chan error, 1)
	go func() { stuck <- r.answers.run(decided, id, plan) }()
	stream := eventstore.Stream{Tenant: node.Tenant, ID: id}
	for {
		moved := n.Watch(stream)
		row, err := n.Store.Row(ctx, stream)
		if err != nil && !errors.Is(err, eventstore.ErrNotFound) { // one that goes on for another is about to start
			return nil, machine(ctx, err)
		}
		if err == nil && !row.Open {
			snap, err := n.Worker.Inspect(ctx, stream)
			if err != nil {
				return nil, machine(ctx, err)
			}
			return api.View(ctx, n.Worker, snap)
		}
		select {
		case <-moved:
		case err := <-stuck:
			return nil, machine(ctx, err)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// startedBy marks the executions that `wovyr run` started, so that the same command finds its own again.
const startedBy = "wovyr run"

// machine is an error that came after the start, unless it is only that the command was interrupted.
func machine(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return failure{err}
}

// ofStore makes an error of the store a failure of the machine.
func ofStore(err error) error {
	if errors.Is(err, eventstore.ErrUnavailable) || errors.Is(err, eventstore.ErrUnknownOutcome) {
		return failure{err}
	}
	return err
}

// trouble says on standard error why nothing moves, and when it does again.
func trouble(env Environment) func(error) {
	return func(err error) {
		if err == nil {
			fmt.Fprintln(env.Err, "The store works again: work goes on.")
			return
		}
		if full := (*sqlite.DiskFullError)(nil); errors.As(err, &full) {
			err = full // without the way that it came
		}
		fmt.Fprintf(env.Err, "Nothing can be stored: %v\nIt is tried again until it works. Nothing is lost, also if you stop this process and start it again.\n", err)
	}
}

// open looks for an execution of the workflow with this input that an earlier run left open, and returns it with its version.
func (r *run) open(ctx context.Context, n *node.Node, name string, input workflow.Value) (id, version string, err error) {
	if r.fresh || r.key != "" {
		return "", "", nil
	}
	for page := (eventstore.Page{}); ; {
		rows, next, err := n.Worker.Store.List(ctx, node.Tenant, eventstore.Filter{Workflow: name, OpenOnly: true}, page)
		if err != nil {
			return "", "", err
		}
		for _, row := range rows {
			created, err := n.Worker.Created(ctx, row.Stream)
			if err != nil {
				return "", "", err
			}
			if goesOn := created.Origin.Continues; goesOn != nil && created.By == startedBy {
				if created, err = n.Worker.Created(ctx, eventstore.Stream{Tenant: node.Tenant, ID: goesOn.First}); err != nil {
					return "", "", err
				}
			}
			if created.By == startedBy && string(created.Input.JSON) == string(input) {
				return row.Stream.ID, strconv.FormatUint(row.Definition, 10), nil
			}
		}
		if next == "" {
			return "", "", nil
		}
		page.Cursor = next
	}
}

// report writes the result and turns it into an exit code.
func (r *run) report(view *client.Execution) error {
	text, err := json.Marshal(struct {
		ID       string          `json:"execution_id"`
		Workflow string          `json:"workflow"`
		Version  string          `json:"version"`
		Status   string          `json:"status"`
		Outcome  string          `json:"outcome"`
		Output   json.RawMessage `json:"output"`
		Error    *workflow.Error `json:"error"`
	}{view.ID, view.Workflow, view.Version, view.Status, view.Outcome, view.Output, view.Error})
	if err != nil {
		return failure{err}
	}
	if _, err := fmt.Fprintf(r.env.Out, "%s\n", text); err != nil {
		return failure{err}
	}
	return endOf(view)
}

// endOf is the exit code of an execution that has ended.
func endOf(view *client.Execution) error {
	if view.Outcome == string(workflow.OutcomeCompleted) {
		return nil
	}
	return errNotCompleted
}

// readInput reads JSON, or @FILE, or @- for standard input.
// what names it in errors.
func readInput(env Environment, what, text string) (workflow.Value, error) {
	data := []byte(text)
	if name, ok := strings.CutPrefix(text, "@"); ok {
		var err error
		if name == "-" {
			data, err = io.ReadAll(io.LimitReader(env.In, maxFile))
		} else {
			data, err = os.ReadFile(name)
		}
		if err != nil {
			return nil, misuse{fmt.Errorf("%s cannot be read: %w", what, err)}
		}
	}
	v, err := expr.Canonical(data)
	if err != nil {
		return nil, misuse{fmt.Errorf("%s is not JSON: %w: write JSON, such as '{\"name\": 1}', or @file.json", what, err)}
	}
	return v, nil
}

// compileAll compiles documents; if one is refused, nothing is started, and all findings are shown.
func compileAll(env Environment, files []string) ([]document, error) {
	docs := make([]document, len(files))
	refused := false
	for i, file := range files {
		d := open(env, file)
		if len(d.diagnostics) > 0 {
			_ = printDiagnostics(env.Err, d, env.ErrColour) // standard error
		}
		if d.definition != nil && slices.ContainsFunc(d.definition.Triggers, func(t workflow.Trigger) bool { return t.Schedule != nil }) {
			fmt.Fprintf(env.Err, "%s: warning: no schedule starts %s yet: its schedule triggers are not run; start it with `wovyr start` or `wovyr run`\n", d.file, d.definition.Name)
		}
		refused = refused || d.definition == nil
		docs[i] = d
	}
	if refused {
		return nil, errRefused
	}
	return docs, nil
}

// quietLog keeps warnings and errors of the worker for standard error.
func quietLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelError}))
}
