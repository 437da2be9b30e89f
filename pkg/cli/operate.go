package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// move is what an operator does to an execution that waits for one.
type move struct {
	name, short, long, example string
	// step is whether the move is about one step: needed, possible or never.
	min, max int
}

const waitsForOperator = `An execution waits for an operator when a step failed for good under
on_failure: pause, or when undoing a step failed for good: "wovyr get" shows it.`

var moves = []move{
	{"retry", "Try a failed step again", "Tries the step once more, whatever its retry policy says.", "  wovyr retry k5f2… charge", 2, 2},
	{"resume", "Try all failed steps again", "Tries everything that failed once more.", "  wovyr resume k5f2…", 1, 1},
	{"skip", "Skip a failed step", "Goes on as if the step had been skipped by its own `when`: its output is null.", "  wovyr skip k5f2… charge", 2, 2},
	{"complete", "Give a failed step its output", "Goes on as if the step had completed with this output.", `  wovyr complete k5f2… charge --result '{"id": "c-1"}'`, 2, 2},
	{"fail", "Let a failed step fail", "Gives up: the step has failed, and the execution ends as it would without an operator.\nWithout a step it decides the timeout of the whole execution.", "  wovyr fail k5f2… charge", 1, 2},
}

func newMove(env Environment, m move) *cobra.Command {
	r := &remote{env: env}
	var result, code, message string
	use := m.name + " EXECUTION"
	switch {
	case m.min == 2:
		use += " STEP"
	case m.max == 2:
		use += " [STEP]"
	}
	c := &cobra.Command{
		Use: use, Short: m.short, Long: m.long + "\n\n" + waitsForOperator, Example: m.example, Args: cobra.RangeArgs(m.min, m.max),
		RunE: func(c *cobra.Command, args []string) error {
			o := client.OperatorMove{Move: m.name, By: user()}
			if len(args) == 2 {
				o.Step = args[1]
			}
			if m.name == "complete" {
				value, err := readInput(env, "the result", result)
				if err != nil {
					return err
				}
				o.Output = json.RawMessage(value)
			}
			if code != "" {
				o.Error = workflow.Errorf(code, workflow.CategoryActivity, "%s", message)
			}
			to, err := r.client(c.Context())
			if err != nil {
				return err
			}
			return r.done(to.Move(c.Context(), args[0], o), "Told %s to %s", args[0], strings.Join(append([]string{m.name}, args[1:]...), " "))
		},
	}
	r.flags(c)
	switch m.name {
	case "complete":
		c.Flags().StringVar(&result, "result", "null", "the step's output: JSON, or @FILE")
	case "fail":
		c.Flags().StringVar(&code, "code", "", "code of the error, such as payment.lost (default: the step's own error)")
		c.Flags().StringVar(&message, "message", "", "message of the error")
	}
	return c
}

func newPublish(env Environment) *cobra.Command {
	r := &remote{env: env}
	var event client.Signal
	var data string
	c := &cobra.Command{
		Use: "publish TYPE", Short: "Send an event to whoever waits for it", Args: cobra.ExactArgs(1),
		Long: `Sends an event to all executions that wait for its type (and key), keeps it for those
that will, and starts the workflows that have a trigger for it. The same --id counts
once. (To one execution: wovyr signal.)

Steps that say from: file, queue or webhook take no event of the bus: --from sends one
in the place of the upload, the message or the request that they wait for.`,
		Example: `  wovyr publish PaymentReceived --key o-1 --json-data '{"amount": 12}'
  wovyr publish 'Object Created' --key scans/one.pdf --from file --json-data '{}'`,
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
			event.Type, event.Data = args[0], json.RawMessage(value)
			return r.done(to.Publish(c.Context(), event), "Published %s", event.Type)
		},
	}
	r.flags(c)
	c.Flags().StringVar(&event.Key, "key", "", "key of the event")
	c.Flags().StringVar(&event.Source, "source", "cli", "source of the event")
	c.Flags().StringVar(&event.From, "from", "bus", "how it comes: bus, queue, file or webhook")
	c.Flags().StringVar(&data, "json-data", "null", "data of the event: JSON, or @FILE")
	c.Flags().StringVar(&event.ID, "id", "", "ID of the event: a repeat with it is harmless")
	return c
}

func newVerify(env Environment) *cobra.Command {
	r := &remote{env: env}
	c := &cobra.Command{
		Use: "verify EXECUTION", Short: "Check that the history of an execution was not changed", Args: cobra.ExactArgs(1),
		Long: `Reads the whole history and checks that it is one chain: no event is missing, and each
commit names the hash of the one before. It finds any change to a commit that
another one follows. A history that was rewritten as a whole, or whose last commit
was replaced, it finds only by the hash: compare it with one that you kept.

Without a server it reads the store in --data itself.`,
		Example: "  wovyr verify k5f2…\n  wovyr verify k5f2… -o json | jq -r .hash",
		RunE: func(c *cobra.Command, args []string) error {
			from, done, err := r.reader(c.Context())
			if err != nil {
				return err
			}
			defer done()
			p, err := from.Verify(c.Context(), args[0])
			if err != nil {
				return brokenHistory(err)
			}
			return r.print(p, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "execution\t%s\nhistory\t%d events in %d commits, unbroken\nhash\t%s\n", p.Execution, p.Events, p.Commits, p.Hash)
				return err
			})
		},
	}
	r.flags(c)
	outputFlag(c, &r.output, formats)
	return c
}

type redrive struct {
	remote
	request client.RedriveRequest
	input   string
	wait    bool
}

func newRedrive(env Environment) *cobra.Command {
	r := &redrive{remote: remote{env: env}}
	c := &cobra.Command{
		Use: "redrive EXECUTION", Short: "Go on where an execution failed, as a new one", Args: cobra.ExactArgs(1),
		Long: `Starts a new execution that takes over what an ended one completed and runs the rest:
what failed, what was not run, and with --from those steps and all that follows on
them. An execution whose work was undone has nothing to go on from.`,
		Example: "  wovyr redrive k5f2…\n  wovyr redrive k5f2… --from price --version live --wait",
		RunE:    func(c *cobra.Command, args []string) error { return r.run(c.Context(), args[0]) },
	}
	r.flags(c)
	outputFlag(c, &r.output, formats)
	c.Flags().StringSliceVar(&r.request.From, "from", nil, "run this `step` again, with all that follows on it; may be repeated")
	c.Flags().StringVar(&r.request.Version, "version", "", "version or alias to go on with (default: that of the ended execution)")
	c.Flags().StringVar(&r.request.Key, "key", "", "idempotency key: the same key finds the same execution")
	c.Flags().StringVarP(&r.input, "input", "i", "", "another input: JSON, or @FILE (default: that of the ended execution)")
	c.Flags().BoolVar(&r.wait, "wait", false, "wait for the end")
	return c
}

func (r *redrive) run(ctx context.Context, id string) error {
	if r.input != "" {
		value, err := readInput(r.env, "the input", r.input)
		if err != nil {
			return err
		}
		r.request.Input = json.RawMessage(value)
	}
	r.request.By = user()
	to, err := r.client(ctx)
	if err != nil {
		return err
	}
	e, err := to.Redrive(ctx, id, r.request)
	if err != nil {
		return err
	}
	return r.show(ctx, to, e, r.wait)
}

// Pauses between two looks at an execution on a server that answers at once.
const (
	firstPause = 200 * time.Millisecond
	maxPause   = 5 * time.Second
)

// show writes an execution that was just started, or with wait how it ended. Whoever waits hears its ID at once: Ctrl-C ends the waiting alone.
func (r *remote) show(ctx context.Context, at *client.Client, e client.Execution, wait bool) error {
	if wait {
		waiting, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
		fmt.Fprintf(r.env.Err, "Execution %s of %s, version %s.\n", visible(e.ID), visible(e.Workflow), visible(e.Version))
		var err error
		e, err = r.await(waiting, at, e)
		if errors.Is(err, context.Canceled) {
			fmt.Fprintf(r.env.Err, "Interrupted. Execution %s goes on; look at it: %s get %[1]s%s\n", visible(cmp.Or(e.Next, e.ID)), program(), r.sameServer())
			return errInterrupted
		}
		if err != nil {
			return err
		}
	}
	if err := r.print(e, func(w io.Writer) error { return writeExecution(w, e) }); err != nil {
		return err
	}
	if wait {
		return endOf(&e)
	}
	return nil
}

// await returns an execution once it has ended, and where waiting ends before, as it was seen last.
func (r *remote) await(ctx context.Context, at *client.Client, e client.Execution) (client.Execution, error) {
	pause := firstPause
	for id := e.ID; !e.Ended() || e.Next != ""; {
		if e.Ended() {
			id = e.Next // continue_as_new: the work goes on there
		}
		asked := time.Now()
		now, err := at.Wait(ctx, id)
		if err != nil {
			return e, err
		}
		e = now
		if e.Ended() || time.Since(asked) > maxPause {
			continue
		}
		select { // a server on AWS does not wait: it is asked again, ever more rarely
		case <-time.After(pause):
			pause = min(2*pause, maxPause)
		case <-ctx.Done():
			return e, ctx.Err()
		}
	}
	return e, nil
}
