package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/dsl"
)

func newDeploy(env Environment) *cobra.Command {
	r := &remote{env: env}
	c := &cobra.Command{
		Use: "deploy FILE...", Short: "Deploy workflows to a server", Args: cobra.MinimumNArgs(1), ValidArgsFunction: documents,
		Long: `Sends documents to a server. Each becomes the next version of its workflow, or stays
the one it is if nothing changed. All are checked here first; if one is refused,
none is sent. A server may refuse one for what only it knows, such as its functions
and limits: those before it are deployed then.`,
		Example: "  wovyr deploy order.yaml shipping.yaml",
		RunE: func(c *cobra.Command, args []string) error {
			docs, err := compileAll(env, args)
			if err != nil {
				return err
			}
			to, err := r.client(c.Context())
			if err != nil {
				return err
			}
			for _, d := range docs {
				deployed, err := to.Deploy(c.Context(), d.file, d.data)
				if err != nil {
					return refusedThere(env, d, err)
				}
				warnAbsent(env, d, ofServer(deployed.Diagnostics))
				fmt.Fprintf(env.Out, "%s: %s\n", d.file, deployedAs(deployed.Workflow, deployed.Version, deployed.New))
				tellHooks(env.Out, to.Server, deployed.Webhooks)
			}
			return nil
		},
	}
	r.flags(c)
	return c
}

// refusedThere shows why a server refuses a document that is fine here, as if it had been found here: what only a server knows, such as the
// functions and the limits of a deployment on AWS. What was shown already is not shown again.
func refusedThere(env Environment, d document, err error) error {
	p := (*client.Problem)(nil)
	if !errors.As(err, &p) {
		return err
	}
	var all []dsl.Diagnostic
	if json.Unmarshal(p.Diagnostics, &all) != nil { // there are none, or a newer server says it in another way
		return err
	}
	d.diagnostics = slices.DeleteFunc(all, func(each dsl.Diagnostic) bool { return slices.Contains(d.diagnostics, each) })
	if len(d.diagnostics) == 0 {
		return err
	}
	_ = printDiagnostics(env.Err, d, env.ErrColour) // standard error
	return errRefused
}

// tellHooks says where services send the requests of webhooks to.
func tellHooks(out io.Writer, server string, paths []string) {
	for _, path := range paths {
		fmt.Fprintf(out, "  webhook: POST %s%s\n", strings.TrimSuffix(server, "/"), path)
	}
}

type start struct {
	remote
	input, version, key string
	wait                bool
	labels              map[string]string
}

func newStart(env Environment) *cobra.Command {
	s := &start{remote: remote{env: env}}
	c := &cobra.Command{
		Use: "start WORKFLOW", Short: "Start an execution on a server", Args: cobra.ExactArgs(1),
		Long: `Starts an execution of a deployed workflow. With --wait it waits for the end, and
exits with 0 if the execution completed and with 1 if not.`,
		Example: `  wovyr start order --input '{"id": 7}' --key order-7
  wovyr start order --input @order.json --wait -o json`,
		RunE: func(c *cobra.Command, args []string) error { return s.run(c.Context(), args[0]) },
	}
	s.flags(c)
	outputFlag(c, &s.output, formats)
	c.Flags().StringVarP(&s.input, "input", "i", "{}", "the input: JSON, or @FILE")
	c.Flags().StringVar(&s.version, "version", "", "version or alias (default: live, or the newest)")
	c.Flags().StringVar(&s.key, "key", "", "idempotency key: the same key finds the same execution")
	c.Flags().BoolVar(&s.wait, "wait", false, "wait for the end")
	c.Flags().StringToStringVar(&s.labels, "label", nil, "labels: key=value")
	return c
}

func (s *start) run(ctx context.Context, name string) error {
	input, err := readInput(s.env, "the input", s.input)
	if err != nil {
		return err
	}
	to, err := s.client(ctx)
	if err != nil {
		return err
	}
	e, err := to.Start(ctx, client.StartRequest{Workflow: name, Version: s.version, Input: json.RawMessage(input), Key: s.key, Labels: s.labels})
	if err != nil {
		return err
	}
	return s.show(ctx, to, e, s.wait)
}

func newSignal(env Environment) *cobra.Command {
	r := &remote{env: env}
	var key, data, id string
	c := &cobra.Command{
		Use: "signal EXECUTION TYPE", Short: "Send an event to an execution", Args: cobra.ExactArgs(2),
		Long: `Sends an event to one execution. A step that waits for its type (and key) takes it;
if none waits yet, it is kept. The same --id counts once.`,
		Example: `  wovyr signal k5f2… PaymentReceived --key o-1 --json-data '{"amount": 12}'`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := r.checkData(); err != nil {
				return err
			}
			value, err := readInput(env, "the data", data)
			if err != nil {
				return err
			}
			to, err := r.client(c.Context())
			if err != nil {
				return err
			}
			err = to.Signal(c.Context(), args[0], client.Signal{ID: id, Type: args[1], Key: key, Source: "cli", Data: json.RawMessage(value)})
			return r.done(err, "Sent %s to %s", args[1], args[0])
		},
	}
	r.flags(c)
	c.Flags().StringVar(&key, "key", "", "key of the event")
	c.Flags().StringVar(&data, "json-data", "null", "data of the event: JSON, or @FILE")
	c.Flags().StringVar(&id, "id", "", "ID of the event: a repeat with it is harmless")
	return c
}

func newCancel(env Environment) *cobra.Command {
	r := &remote{env: env}
	var request client.CancelRequest
	c := &cobra.Command{
		Use: "cancel EXECUTION", Short: "Cancel an execution", Args: cobra.ExactArgs(1),
		Example: "  wovyr cancel k5f2… --mode compensated --reason 'customer withdrew'",
		RunE: func(c *cobra.Command, args []string) error {
			to, err := r.client(c.Context())
			if err != nil {
				return err
			}
			return r.done(to.Cancel(c.Context(), args[0], request), "Asked for the end of %s: %s", args[0], request.Mode)
		},
	}
	r.flags(c)
	c.Flags().StringVar(&request.Mode, "mode", "immediate", "immediate, graceful (what runs may finish) or compensated (what is done is undone)")
	c.Flags().StringVar(&request.Reason, "reason", "", "why, for the history")
	return c
}

func newTask(env Environment) *cobra.Command {
	c := &cobra.Command{Use: "task", Short: "List and decide the tasks of people",
		Long: `Lists the tasks that wait for a person, and decides them.

The assignees of a task say whom it is meant for. Nothing holds anybody to that yet:
whoever reaches the server can decide every task, and --by is what he says of
himself. A server on one machine answers to that machine only.`,
		Example: `  wovyr task list
  wovyr task approve k5f2… approve --comment 'as agreed'
  wovyr task reject k5f2… approve`,
	}
	c.AddCommand(newTaskList(env), newDecide(env, "approve", "Approve a task"), newDecide(env, "reject", "Reject a task"))
	return c
}

func newTaskList(env Environment) *cobra.Command {
	r := &remote{env: env}
	c := &cobra.Command{
		Use: "list", Short: "List open tasks", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			from, err := r.client(c.Context())
			if err != nil {
				return err
			}
			tasks := []client.Task{}
			for query := (url.Values{}); ; {
				page, err := from.Tasks(c.Context(), query)
				if err != nil {
					return err
				}
				tasks = append(tasks, page.Items...)
				if page.Next == "" {
					break
				}
				query.Set("cursor", page.Next)
			}
			if err := r.print(tasks, func(w io.Writer) error { return writeTasks(w, tasks) }); err != nil {
				return err
			}
			if r.output == "table" && len(tasks) > 0 {
				fmt.Fprintf(env.Err, "Decide one: %s task approve %s %s%s (or reject)\n", program(), tasks[0].Execution, tasks[0].Step, r.sameServer())
			}
			return nil
		},
	}
	r.flags(c)
	outputFlag(c, &r.output, formats)
	return c
}

// maxTitle is how much of a title and of the assignees a line of the list shows.
const maxTitle = 48

func writeTasks(w io.Writer, tasks []client.Task) error {
	if len(tasks) == 0 {
		_, err := fmt.Fprintln(w, "No open tasks.")
		return err
	}
	if _, err := fmt.Fprintln(w, "EXECUTION\tSTEP\tTITLE\tFOR\tDUE"); err != nil {
		return err
	}
	for _, t := range tasks {
		if _, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.Execution, t.Step, clip(visible(t.Title), maxTitle), clip(visible(strings.Join(t.Assignees, ", ")), maxTitle), stamp(t.DueAt)); err != nil {
			return err
		}
	}
	return nil
}

func newDecide(env Environment, verdict, short string) *cobra.Command {
	r := &remote{env: env}
	var answer string
	d := client.Decision{Verdict: verdict}
	c := &cobra.Command{
		Use: verdict + " EXECUTION STEP", Short: short, Args: cobra.ExactArgs(2),
		Example: "  wovyr task " + verdict + " k5f2… approve --comment 'as agreed'",
		RunE: func(c *cobra.Command, args []string) error {
			value, err := readInput(env, "the answer", answer)
			if err != nil {
				return err
			}
			to, err := r.client(c.Context())
			if err != nil {
				return err
			}
			d.Answer = json.RawMessage(value)
			return r.done(to.Decide(c.Context(), args[0], args[1], d), "Took the decision about %s of %s: %s", args[1], args[0], verdict)
		},
	}
	r.flags(c)
	c.Flags().StringVar(&answer, "answer", "null", "what the form asks for: JSON, or @FILE")
	c.Flags().StringVar(&d.Comment, "comment", "", "why")
	c.Flags().StringVar(&d.By, "by", user(), "who decides")
	return c
}
