package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wovyr/wovyr/pkg/aws/estimate"
	awsmeter "github.com/wovyr/wovyr/pkg/aws/meter"
)

type cost struct {
	remote
	prices string
	show   bool
}

func newCost(env Environment) *cobra.Command {
	r := &cost{remote: remote{env: env}}
	c := &cobra.Command{
		Use: "cost EXECUTION", Short: "Show what an execution costs on AWS", Args: r.arguments,
		Long: `Estimates what an execution costs on AWS, so far, from its history: wherever it ran.
Run a workflow on this machine to see what it will cost before you deploy it.

What is counted: writes and reads of the tables, with the index of lists; requests of
queues, Lambda's own polling of messages included; entries of EventBridge Scheduler;
lifecycle events on the bus; the payload bucket; the request at the API that starts it,
and those by which people decide; requests of Lambda functions, and their time by a
model of latency. The estimate is held against metered runs of a whole deployment on
an emulator; nothing was measured in an account. docs/cost.md has the tables.

What is not: the time in which steps work (it is named below the table), what they call;
functions of your own; children and successors, which are executions of their own;
logs, metrics, alarms, storage, data transfer; requests that only look, such as
start --wait; removal after the retention. An execution is taken by itself, which is
dearest: a busy deployment shares the publisher's invocations among many.

Prices are those of us-east-1 without free tiers and discounts. For another region save
--show-prices in a file, change it, and give it by --prices.`,
		Example: `  wovyr cost k5f2…                             # of this machine, or of the server found
  wovyr cost k5f2… --stack wovyr
  wovyr cost k5f2… -o json | jq .million_executions
  wovyr cost --show-prices > eu-central-1.json
  wovyr cost k5f2… --prices eu-central-1.json`,
		RunE: func(c *cobra.Command, args []string) error {
			if r.show {
				return r.showPrices()
			}
			return r.run(c.Context(), args[0])
		},
	}
	r.flags(c)
	outputFlag(c, &r.output, formats)
	c.Flags().StringVar(&r.prices, "prices", "", "`FILE` with the prices to use, as --show-prices writes them")
	c.Flags().BoolVar(&r.show, "show-prices", false, "write the prices that are used, with their days and sources, as JSON")
	return c
}

// arguments checks what is given: one execution, or the wish to see the prices.
func (r *cost) arguments(c *cobra.Command, args []string) error {
	if r.show {
		return cobra.NoArgs(c, args)
	}
	if err := cobra.ExactArgs(1)(c, args); err != nil {
		return err
	}
	switch filepath.Ext(args[0]) {
	case ".yaml", ".yml", ".json":
		return fmt.Errorf("%s is a document, and what costs is an execution: run it once (%s run %s), then ask for the execution that it names", args[0], program(), args[0])
	}
	return nil
}

func (r *cost) table() (awsmeter.Prices, error) {
	if r.prices == "" {
		return awsmeter.DefaultPrices(), nil
	}
	text, err := os.ReadFile(r.prices)
	if err != nil {
		return awsmeter.Prices{}, misuse{err}
	}
	p, err := awsmeter.ParsePrices(text)
	if err != nil {
		return p, misuse{fmt.Errorf("%s: %w", r.prices, err)}
	}
	return p, nil
}

func (r *cost) showPrices() error {
	p, err := r.table()
	if err != nil {
		return err
	}
	if err := writeJSON(r.env.Out, p); err != nil {
		return failure{err}
	}
	return nil
}

// costs is what the command writes.
type costs struct {
	Execution string `json:"execution_id"`
	Workflow  string `json:"workflow"`
	Ended     bool   `json:"ended"` // else it is what it costs so far
	Region    string `json:"region"`
	Steps     int    `json:"steps"`
	// Dollars of this execution, of a million like it, and of a million of its steps, all in.
	Dollars           float64     `json:"dollars"`
	MillionExecutions float64     `json:"million_executions"`
	MillionSteps      float64     `json:"million_steps,omitempty"` // absent: it has none
	Units             []unitCost  `json:"units"`
	Parts             []partCost  `json:"parts"`
	Beside            []otherCost `json:"beside"`
	Work              ownWork     `json:"work"`
}

// unitCost is what a unit makes of it; dollars here and below are of a million such executions.
type unitCost struct {
	Unit    awsmeter.Unit `json:"unit"`
	Count   float64       `json:"count"` // in one execution
	Dollars float64       `json:"million_executions"`
}

// partCost is what a step makes of it; an empty step is the execution as a whole.
type partCost struct {
	Step    string  `json:"step"`
	Runs    int     `json:"runs"`
	Dollars float64 `json:"million_executions"`
}

// otherCost is the list price listed for as many steps.
type otherCost struct {
	Name         string  `json:"name"`
	MillionSteps float64 `json:"million_steps"`
	Dollars      float64 `json:"million_executions"`
	Unit         string  `json:"unit"`
}

// ownWork is the time of the steps' own code, which is not in the sums.
type ownWork struct {
	Seconds float64 `json:"seconds"`
	Dollars float64 `json:"million_executions"`
}

const million = 1e6

// listed are prices of others, in dollars per million, that docs/cost.md has with their days.
var listed = []otherCost{
	{Name: "Step Functions Standard", MillionSteps: 25, Unit: "transition"},
	{Name: "Lambda durable functions", MillionSteps: 8, Unit: "operation"},
}

func (r *cost) run(ctx context.Context, id string) error {
	prices, err := r.table()
	if err != nil {
		return err
	}
	from, done, err := r.reader(ctx)
	if err != nil {
		return err
	}
	defer done()
	history, err := wholeHistory(ctx, from, id)
	if err != nil {
		return err
	}
	e, err := estimate.Of(history)
	if err != nil {
		return err
	}
	out, err := priced(e, prices)
	if unpriced := (*awsmeter.UnpricedError)(nil); errors.As(err, &unpriced) {
		return misuse{fmt.Errorf("%s: %w", r.prices, err)}
	}
	if err != nil {
		return err
	}
	return r.print(out, out.write)
}

// priced makes dollars of an estimate.
func priced(e estimate.Estimate, prices awsmeter.Prices) (costs, error) {
	out := costs{Execution: e.Execution, Workflow: e.Workflow, Ended: e.Ended, Region: prices.Region, Steps: e.Steps}
	var wrong error
	dollars := func(units map[awsmeter.Unit]float64) float64 {
		d, err := prices.Cost(awsmeter.Usage{Units: units})
		if err != nil {
			wrong = err
		}
		return d * million
	}
	all := e.Units()
	of := func(u awsmeter.Unit, n float64) float64 { return dollars(map[awsmeter.Unit]float64{u: n}) }
	for _, u := range estimate.Order(all, of) {
		out.Units = append(out.Units, unitCost{u, rounded(all[u]), rounded(of(u, all[u]))})
	}
	for _, p := range e.Parts {
		out.Parts = append(out.Parts, partCost{p.Step, p.Runs, rounded(dollars(p.Units))})
	}
	out.MillionExecutions = rounded(dollars(all))
	out.Dollars = out.MillionExecutions / million
	if e.Steps > 0 {
		out.MillionSteps = rounded(out.MillionExecutions / float64(e.Steps))
	}
	for _, x := range listed {
		x.Dollars = x.MillionSteps * float64(e.Steps)
		out.Beside = append(out.Beside, x)
	}
	out.Work = ownWork{e.Work.Seconds(), rounded(of(awsmeter.GBSecond, e.GBSeconds))}
	return out, wrong
}

// rounded drops what adding up has left behind the digits that say something.
func rounded(x float64) float64 { return math.Round(x*million) / million }

func (c costs) write(w io.Writer) error {
	var b strings.Builder
	so := ""
	if !c.Ended {
		so = ", so far"
	}
	fmt.Fprintf(&b, "execution\t%s of %s: %s%s\n", c.Execution, c.Workflow, counted(c.Steps, "step"), so)
	fmt.Fprintf(&b, "prices\t%s; estimated from its history\n\n", c.Region)
	b.WriteString("UNIT\tCOUNT\t$ PER MILLION EXECUTIONS\n")
	for _, u := range c.Units {
		fmt.Fprintf(&b, "%s\t%s\t%.2f\n", u.Unit, strconv.FormatFloat(u.Count, 'g', 4, 64), u.Dollars)
	}
	b.WriteString("\nSTEP\tRUNS\t$ PER MILLION EXECUTIONS\n")
	for _, p := range c.Parts {
		name, runs := visible(p.Step), strconv.Itoa(p.Runs)
		if name == "" {
			name, runs = "(the execution)", ""
		}
		fmt.Fprintf(&b, "%s\t%s\t%.2f\n", name, runs, p.Dollars)
	}
	b.WriteString("\n\t$ PER MILLION STEPS\t$ PER MILLION EXECUTIONS\n")
	steps := "-"
	if c.Steps > 0 {
		steps = fmt.Sprintf("%.2f", c.MillionSteps)
	}
	fmt.Fprintf(&b, "all of it\t%s\t%.2f\n", steps, c.MillionExecutions)
	for _, x := range c.Beside {
		fmt.Fprintf(&b, "%s, at $%g per million %ss\t%.2f\t%.2f\n", x.Name, x.MillionSteps, x.Unit, x.MillionSteps, x.Dollars)
	}
	if d := time.Duration(c.Work.Seconds * float64(time.Second)); d >= time.Millisecond {
		fmt.Fprintf(&b, "\nNot in it: the steps' own work, %s at most, $%.2f per million executions in the engine's own function.\n", d.Round(time.Millisecond), c.Work.Dollars)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
