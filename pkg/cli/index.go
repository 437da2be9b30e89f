package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/spf13/cobra"

	"github.com/wovyr/wovyr/pkg/aws/connect"
	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb"
)

func newIndex(env Environment) *cobra.Command {
	c := &cobra.Command{
		Use: "index", Short: "Compare the lists of a stack with its histories",
		Long: `On AWS, lists of executions and the times at which the sweep looks at them are an index,
which the publisher derives from the histories. The histories are what counts: the
index can be made from them at any time.`,
		Example: `  wovyr index rebuild --stack wovyr --dry-run
  wovyr index rebuild --stack wovyr`,
	}
	c.AddCommand(newIndexRebuild(env))
	return c
}

type rebuild struct {
	remote
	dryRun, restart bool
	segments        int
}

func newIndexRebuild(env Environment) *cobra.Command {
	r := &rebuild{remote: remote{env: env}}
	c := &cobra.Command{
		Use: "rebuild", Short: "Make the index what the histories say", Args: cobra.NoArgs,
		Long: `Reads all histories and the whole index, says which rows differ, and puts them right.
Needed when the publisher was away for longer than a day, or when a list is wrong.

Executions may run meanwhile. Each command reads both tables once, which costs about
$0.03 for a million commits of 1 KB. After Ctrl-C the same command goes on where it
was, for a day; --restart begins anew.

--dry-run changes nothing and ends with the exit code 1 if a row differs. What the
publisher may still bring, the last minute, counts as no difference.

It goes to the tables directly, with your own rights: dynamodb:Scan, Query and GetItem
on the tables History and Index, and to change anything PutItem, UpdateItem and
DeleteItem on Index. On one machine there is nothing to rebuild: the lists are written
with each commit.`,
		Example: `  wovyr index rebuild --stack wovyr --dry-run
  wovyr index rebuild --stack wovyr`,
		RunE: func(c *cobra.Command, _ []string) error { return r.run(c.Context()) },
	}
	r.stackFlag(c)
	outputFlag(c, &r.output, formats)
	c.Flags().BoolVar(&r.dryRun, "dry-run", false, "say what differs, and change nothing")
	c.Flags().BoolVar(&r.restart, "restart", false, "begin anew, also where an earlier one was interrupted")
	c.Flags().IntVar(&r.segments, "segments", 4, "how many parts of the tables to read at once, 1 to 64")
	return c
}

// rebuilt is what the command writes.
type rebuilt struct {
	Executions  int          `json:"executions"`
	Different   int          `json:"different"`
	Repaired    int          `json:"repaired"`
	Differences []difference `json:"differences"`
}

type difference struct {
	Tenant    string `json:"tenant"`
	Execution string `json:"execution_id"`
	Kind      string `json:"kind"`
	What      string `json:"what"`
	Repaired  bool   `json:"repaired"`
}

// maxDifferences is how many are listed; the rest is counted.
const maxDifferences = 1000

func (r *rebuild) run(ctx context.Context) error {
	if r.segments < 1 || r.segments > 64 {
		return misuse{fmt.Errorf("--segments %d: write a number from 1 to 64", r.segments)}
	}
	s, err := r.onlyStack(ctx)
	if err != nil {
		return err
	}
	tables := dynamodb.Tables{History: s.Outputs[stack.OutputHistory], Catalogue: s.Outputs[stack.OutputCatalogue], Index: s.Outputs[stack.OutputIndex]}
	if tables.History == "" || tables.Index == "" {
		return fmt.Errorf("stack %s does not name its tables: it is older than this program, deploy it again", s.Name)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	out := rebuilt{Differences: []difference{}}
	left := r.leftAt(s)
	request := dynamodb.Rebuild{DryRun: r.dryRun, Segments: r.segments, From: left.read(r.env.Err), Different: func(d dynamodb.Difference) {
		if len(out.Differences) < maxDifferences {
			out.Differences = append(out.Differences, difference{d.Stream.Tenant, d.Stream.ID, string(d.Kind), d.What, d.Repaired})
		}
	}}
	meter := newMeter(r.env)
	request.Step = func(p dynamodb.Progress) {
		left.write(p)
		meter.show(fmt.Sprintf("Looked at %s, %d different, %d put right", counted(p.Executions, "execution"), p.Different, p.Repaired))
	}
	done, err := dynamodb.New(sdk.NewFromConfig(s.Config), tables, dynamodb.Options{}).Rebuild(ctx, request)
	meter.end()
	if err != nil && ctx.Err() != nil {
		fmt.Fprintln(r.env.Err, "Interrupted. What was put right stays so; the same command goes on from here.")
		return errInterrupted
	}
	if err != nil {
		return failure{fmt.Errorf("%w\nWhat was put right stays so; the same command goes on from there", err)}
	}
	left.forget()
	out.Executions, out.Different, out.Repaired = done.Executions, done.Different, done.Repaired
	return r.report(out)
}

func (r *rebuild) report(out rebuilt) error {
	if err := r.print(out, func(w io.Writer) error {
		if len(out.Differences) > 0 {
			if _, err := fmt.Fprintln(w, "EXECUTION\tDIFFERS\tWHAT"); err != nil {
				return err
			}
		}
		for _, d := range out.Differences {
			if _, err := fmt.Fprintf(w, "%s\t%s\t%s\n", visible(d.Execution), d.Kind, clip(visible(d.What), 100)); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	if r.output == formats[0] {
		switch {
		case out.Different == 0:
			fmt.Fprintf(r.env.Err, "The index is what the histories of %s say.\n", counted(out.Executions, "execution"))
		case r.dryRun:
			fmt.Fprintf(r.env.Err, "%s of %d differ. Put right: %s index rebuild%s\n", counted(out.Different, "row"), out.Executions, program(), r.sameServer())
		default:
			fmt.Fprintf(r.env.Err, "%s of %d differed, %d put right.\n", counted(out.Different, "row"), out.Executions, out.Repaired)
		}
	}
	if r.dryRun && out.Different > 0 || !r.dryRun && out.Repaired < out.Different {
		return errNotCompleted
	}
	return nil
}

// leftover is where an interrupted rebuild is written down. Nothing depends on it: where it cannot be written, the next one begins anew.
type leftover struct{ file string }

// keptFor is how long an interrupted rebuild may be gone on with: what lies before its place may have changed meanwhile.
const keptFor = 24 * time.Hour

func (r *rebuild) leftAt(s *connect.Stack) leftover {
	folder, err := os.UserCacheDir()
	if err != nil || r.dryRun {
		return leftover{}
	}
	l := leftover{filepath.Join(folder, "wovyr", fmt.Sprintf("rebuild-%s-%s-%s.json", s.ARN.AccountID, s.ARN.Region, s.Name))}
	if r.restart {
		l.forget()
	}
	return l
}

func (l leftover) read(says io.Writer) *dynamodb.Progress {
	info, err := os.Stat(l.file)
	if l.file == "" || err != nil || time.Since(info.ModTime()) > keptFor {
		return nil
	}
	text, err := os.ReadFile(l.file)
	var p dynamodb.Progress
	if err != nil || json.Unmarshal(text, &p) != nil || len(p.Segments) == 0 {
		return nil
	}
	fmt.Fprintf(says, "Going on where a rebuild was interrupted at %s, after %s. (Anew: --restart)\n", stamp(info.ModTime()), counted(p.Executions, "execution"))
	return &p
}

func (l leftover) write(p dynamodb.Progress) {
	text, err := json.Marshal(p)
	if l.file == "" || err != nil || os.MkdirAll(filepath.Dir(l.file), 0o700) != nil {
		return
	}
	if os.WriteFile(l.file+".new", text, 0o600) == nil {
		_ = os.Rename(l.file+".new", l.file)
	}
}

func (l leftover) forget() {
	if l.file != "" {
		if err := os.Remove(l.file); err != nil && !errors.Is(err, os.ErrNotExist) {
			_ = os.Truncate(l.file, 0) // then nobody goes on from it
		}
	}
}

// meter shows how far a long work is: in one line of a terminal, else in a line now and then.
type meter struct {
	env   Environment
	every time.Duration
	mu    sync.Mutex
	last  time.Time
	open  bool
}

func newMeter(env Environment) *meter {
	m := &meter{env: env, every: 10 * time.Second, last: time.Now()}
	if env.Interactive {
		m.every = 200 * time.Millisecond
	}
	return m
}

func (m *meter) show(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.last) < m.every {
		return
	}
	m.last = time.Now()
	if m.env.Interactive {
		m.open = true
		fmt.Fprintf(m.env.Err, "\r\x1b[K%s", text)
		return
	}
	fmt.Fprintln(m.env.Err, text)
}

// end clears the line.
func (m *meter) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open {
		fmt.Fprint(m.env.Err, "\r\x1b[K")
	}
}
