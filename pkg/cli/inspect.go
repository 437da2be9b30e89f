package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"github.com/wovyr/wovyr/pkg/client"
)

// reader reads executions: from a server, or from a store.
type reader interface {
	Get(ctx context.Context, id string) (client.Execution, error)
	List(ctx context.Context, query url.Values) (client.Page[client.Execution], error)
	History(ctx context.Context, id, after string) (client.Page[client.Event], error)
	Verify(ctx context.Context, id string) (client.Proof, error)
	letterReader
}

type letterReader interface {
	DeadLetters(ctx context.Context, query url.Values) (client.Page[client.DeadLetter], error)
	DeadLetter(ctx context.Context, id string) (client.DeadLetter, error)
}

var formats = []string{"table", "json", "yaml"}

// print writes a value as JSON or YAML, or lets table write it.
func (r *remote) print(v any, table func(w io.Writer) error) error {
	var err error
	switch r.output {
	case "json":
		err = writeJSON(r.env.Out, v)
	case "yaml":
		var text []byte
		if text, err = toYAML(v); err == nil {
			_, err = r.env.Out.Write(text)
		}
	default:
		tw := tabwriter.NewWriter(r.env.Out, 0, 4, 2, ' ', 0)
		if err = table(tw); err == nil {
			err = tw.Flush()
		}
	}
	if err != nil {
		return failure{err}
	}
	return nil
}

// toYAML goes by the JSON form, so that both have the same names.
func toYAML(v any) ([]byte, error) {
	var b strings.Builder
	if err := writeJSON(&b, v); err != nil {
		return nil, err
	}
	var tree any
	if err := yaml.Unmarshal([]byte(b.String()), &tree); err != nil { // JSON is YAML
		return nil, err
	}
	return yaml.Marshal(tree)
}

func newGet(env Environment) *cobra.Command {
	r := &remote{env: env}
	c := &cobra.Command{
		Use: "get EXECUTION", Short: "Show an execution", Args: cobra.ExactArgs(1),
		Long: `Shows an execution as it is now: its state, what it waits for, its output or error.
Without a server it reads the store in --data itself.`,
		Example: "  wovyr get k5f2…\n  wovyr get k5f2… -o json | jq .output",
		RunE: func(c *cobra.Command, args []string) error {
			from, done, err := r.reader(c.Context())
			if err != nil {
				return err
			}
			defer done()
			e, err := from.Get(c.Context(), args[0])
			if err != nil {
				return err
			}
			return r.print(e, func(w io.Writer) error { return writeExecution(w, e) })
		},
	}
	r.flags(c)
	outputFlag(c, &r.output, formats)
	return c
}

func writeExecution(w io.Writer, e client.Execution) error {
	rows := [][2]string{{"execution", e.ID}, {"workflow", e.Workflow + " version " + e.Version}, {"status", statusOf(e)}}
	if len(e.Waiting) > 0 {
		rows = append(rows, [2]string{"waits for", strings.Join(e.Waiting, ", ")})
	}
	if !e.WakesAt.IsZero() {
		rows = append(rows, [2]string{"wakes at", stamp(e.WakesAt)})
	}
	for _, t := range e.Tasks {
		rows = append(rows, [2]string{"task", t.Step + ": " + t.Title})
	}
	for _, other := range [][2]string{{"child of", e.Parent}, {"redrive of", e.RedriveOf}, {"goes on as", e.Next}} {
		if other[1] != "" {
			rows = append(rows, other)
		}
	}
	rows = append(rows, [2]string{"started", stamp(e.StartedAt)})
	if e.Ended() {
		rows = append(rows, [2]string{"ended", stamp(e.EndedAt)})
	}
	if e.FailedStep != "" {
		rows = append(rows, [2]string{"failed step", e.FailedStep})
	}
	if e.Error != nil {
		rows = append(rows, [2]string{"error", e.Error.Error()})
	}
	for _, h := range e.Held {
		rows = append(rows, [2]string{"to decide", heldText(h)})
	}
	if len(e.Held) > 0 {
		rows = append(rows, [2]string{"", "wovyr retry, skip, complete, fail or resume decides it"})
	}
	if len(e.Input) > 0 {
		rows = append(rows, [2]string{"input", string(e.Input)})
	}
	if e.Ended() && e.Error == nil {
		rows = append(rows, [2]string{"output", string(e.Output)})
	}
	for _, row := range rows {
		if _, err := fmt.Fprintf(w, "%s\t%s\n", row[0], visible(row[1])); err != nil {
			return err
		}
	}
	return nil
}

// heldText says what an operator has to decide about.
func heldText(h client.Held) string {
	what := "step " + h.Step
	switch {
	case h.Undo:
		what = "undoing " + what
	case h.Step == "":
		what = "the timeout of the execution"
	}
	return fmt.Sprintf("%s: %s", what, h.Error)
}

func statusOf(e client.Execution) string {
	if e.Outcome == "" || e.Outcome == e.Status {
		return e.Status
	}
	return e.Status + " (" + e.Outcome + ")"
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

type list struct {
	remote
	workflow, status, label string
	limit                   int
	stuck                   bool
}

func newList(env Environment) *cobra.Command {
	l := &list{remote: remote{env: env}}
	c := &cobra.Command{
		Use: "list", Short: "List executions, newest first", Args: cobra.NoArgs,
		Long: `Lists executions, newest first. Without a server it reads the store in --data itself.

--stuck lists those that do not move although what they wait for was sent again as
often as it is: each is tried on, ever more rarely. Look at the log of the server for
their IDs, at wovyr deadletters, and at wovyr history; then cancel, or mend the cause.`,
		Example: "  wovyr list --status waiting\n  wovyr list --workflow order -o json\n  wovyr list --stuck --stack wovyr",
		RunE:    func(c *cobra.Command, _ []string) error { return l.run(c.Context()) },
	}
	l.flags(c)
	outputFlag(c, &l.output, formats)
	c.Flags().StringVar(&l.workflow, "workflow", "", "only those of a workflow")
	c.Flags().StringVar(&l.status, "status", "", "only those of a status: running, waiting, completed, failed, cancelled, compensating")
	c.Flags().StringVar(&l.label, "label", "", "only those with a label: key=value")
	c.Flags().BoolVar(&l.stuck, "stuck", false, "only those that do not move although they were repaired again and again")
	c.Flags().IntVar(&l.limit, "limit", 50, "at most so many")
	return c
}

// maxPage is the most that a server gives at once.
const maxPage = 1000

func (l *list) run(ctx context.Context) error {
	if l.limit < 1 {
		return misuse{fmt.Errorf("--limit %d: write a number from 1 on", l.limit)}
	}
	from, done, err := l.reader(ctx)
	if err != nil {
		return err
	}
	defer done()
	query := url.Values{"limit": {strconv.Itoa(min(l.limit, maxPage))}}
	for key, value := range map[string]string{"workflow": l.workflow, "status": strings.ToLower(l.status), "label": l.label} { // order-free: a query
		if value != "" {
			query.Set(key, value)
		}
	}
	if l.stuck {
		query.Set("stuck", "true")
	}
	items := []client.Execution{}
	for len(items) < l.limit {
		page, err := from.List(ctx, query)
		if err != nil {
			return err
		}
		items = append(items, page.Items...)
		if page.Next == "" {
			break
		}
		query.Set("cursor", page.Next)
	}
	items = items[:min(len(items), l.limit)]
	return l.print(items, func(w io.Writer) error {
		if _, err := fmt.Fprintln(w, "EXECUTION\tWORKFLOW\tVERSION\tSTATUS\tSTARTED\tUPDATED"); err != nil {
			return err
		}
		for _, e := range items {
			if _, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", e.ID, e.Workflow, e.Version, statusOf(e), stamp(e.StartedAt), stamp(e.UpdatedAt)); err != nil {
				return err
			}
		}
		return nil
	})
}

func newHistory(env Environment) *cobra.Command {
	r := &remote{env: env}
	c := &cobra.Command{
		Use: "history EXECUTION", Short: "Show the events of an execution", Args: cobra.ExactArgs(1),
		Long: `Shows all events of an execution, oldest first. Without a server it reads the store
in --data itself. As JSON it is a list of events with type, version, at, and where
they apply step, attempt, worker, data.`,
		Example: "  wovyr history k5f2…\n  wovyr history k5f2… -o json | jq '.[].type'",
		RunE: func(c *cobra.Command, args []string) error {
			from, done, err := r.reader(c.Context())
			if err != nil {
				return err
			}
			defer done()
			events, err := wholeHistory(c.Context(), from, args[0])
			if err != nil {
				return err
			}
			return r.print(events, func(w io.Writer) error { return writeHistory(w, events) })
		},
	}
	r.flags(c)
	outputFlag(c, &r.output, formats)
	return c
}

func wholeHistory(ctx context.Context, from reader, id string) ([]client.Event, error) {
	var events []client.Event
	for after := ""; ; {
		page, err := from.History(ctx, id, after)
		if err != nil {
			return nil, err
		}
		if len(page.Items) == 0 {
			return events, nil
		}
		events = append(events, page.Items...)
		after = page.Next
	}
}

func writeHistory(w io.Writer, events []client.Event) error {
	for _, e := range events {
		attempt := ""
		if e.Attempt > 0 {
			attempt = "attempt " + strconv.Itoa(e.Attempt)
		}
		if _, err := fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", e.Version, e.At.Local().Format("15:04:05.000"), e.Type, e.Step, attempt, clip(string(e.Data), 100)); err != nil {
			return err
		}
	}
	return nil
}

func clip(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}
