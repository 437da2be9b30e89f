package aws_test

import (
	"flag"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/aws/meter"
	"github.com/wovyr/wovyr/pkg/client"
)

// runs is how many executions of each kind are measured; a few give the same counts as many.
var runs = flag.Int("runs", 2, "how many executions of each kind are measured")

// costs are the bills of all scenarios.
type costs struct {
	chain10, chain30, slow10, slow30, fan100, approval, week bill
}

// run starts an execution and waits for its end.
func (s *site) run(workflow string) func() {
	return func() {
		id, _ := s.start(workflow)
		s.end(id, time.Now())
	}
}

// after is run, with something that happens meanwhile.
func (s *site) after(workflow string, d time.Duration, what func(id string)) func() {
	return func() {
		id, _ := s.start(workflow)
		<-time.After(d)
		what(id)
		s.end(id, time.Now())
	}
}

func (s *site) approve(id string) {
	s.Request(http.MethodPost, "/v1/executions/"+id+"/tasks/approve", client.Decision{Verdict: "approve"}, nil)
}

func (s *site) costs() costs {
	for _, document := range []string{chain("chain10", 10, 0), chain("chain30", 30, 0), chain("slow10", 10, 1000), chain("slow30", 30, 1000), fanOut("fan100", 100), approval, week} {
		s.deploy(document)
	}
	return costs{
		chain10:  s.measure(10, s.run("chain10")),
		chain30:  s.measure(30, s.run("chain30")),
		slow10:   s.measure(10, s.run("slow10")),
		slow30:   s.measure(30, s.run("slow30")),
		fan100:   s.measure(100, s.run("fan100")),
		approval: s.measure(3, s.after("approval", time.Hour, s.approve)),
		week:     s.measure(3, s.after("week", 7*24*time.Hour, func(string) {})),
	}
}

// TestCosts holds what executions cost, in dollars of the price table: nobody's own work, logs or storage is in it. It prints the bills.
func TestCosts(t *testing.T) {
	onSite(t, 1, func(s *site) {
		c := s.costs()
		for _, x := range []struct {
			name string
			bill bill
			most float64 // dollars per million steps, all in
		}{
			{"chain of 10", c.chain10, 2.00},
			{"chain of 30", c.chain30, 1.30},
			{"chain of 10, each step works for a second", c.slow10, 2.50},
			{"chain of 30, the same", c.slow30, 1.60},
			{"fan-out of 100", c.fan100, 2.50},
			{"approval, after an hour: 3 steps", c.approval, 9.50},
			{"wait of a week: 3 steps", c.week, 8.00},
		} {
			t.Logf("%s: $%.2f per million executions, $%.2f per million steps\n%s", x.name, x.bill.million(t), x.bill.step(t), x.bill.table(t))
			require.LessOrEqual(t, x.bill.step(t), x.most, x.name)
		}
		const more = 20 // steps of a chain of 30
		step := (c.chain30.million(t) - c.chain10.million(t)) / more
		slow := (c.slow30.million(t) - c.slow10.million(t)) / more
		fixed := c.chain10.million(t) - 10*step
		writes := float64(c.chain30.puts()-c.chain10.puts()) / more
		t.Logf("one chained step more: %.2f conditional writes, $%.3f per million; if it works for a second, $%.3f; an execution besides: $%.2f per million", writes, step, slow, fixed)
		require.LessOrEqual(t, writes, 1.1, "conditional writes of a chained step")
		require.LessOrEqual(t, step, 1.00)
		require.LessOrEqual(t, slow, 1.00)
		require.LessOrEqual(t, fixed, 10.00)
	})
}

// puts are the conditional writes of an execution.
func (b bill) puts() float64 {
	n := 0
	for _, u := range b.of { // order-free: a sum
		n += u.Requests["DynamoDB.PutItem"]
	}
	return float64(n) / float64(b.runs)
}

// TestAtRest says what a deployment costs with nothing to do: the sweep, and polling, which no execution is charged with.
func TestAtRest(t *testing.T) {
	onSite(t, 1, func(s *site) {
		s.Usage()
		s.Sweep()
		units := map[meter.Unit]float64{}
		for _, u := range s.Usage() { // order-free: sums
			for unit, n := range u.Units { // order-free: sums
				units[unit] += n * 60 * 24 * 30
			}
		}
		t.Logf("sweeps of a month: $%.2f: %v", dollars(t, units)/1e6, units)
		require.LessOrEqual(t, dollars(t, units)/1e6, 2.00)
	})
}
