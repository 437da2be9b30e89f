//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/sqlite"
	"github.com/wovyr/wovyr/pkg/local"
	"github.com/wovyr/wovyr/pkg/workflow"
)

var (
	kills    = flag.Int("kills", 10, "how many times the process is killed")
	killSeed = flag.Uint64("killseed", 1, "the seed of the moments")
)

// killedSteps is the length of the workflow that is killed.
const killedSteps = 50

// killed is a workflow whose steps each leave a line in a file: their name and idempotency key.
func killed() string {
	var b strings.Builder
	b.WriteString("dsl: wovyr/v1\nname: killed\nsteps:\n")
	for i := 1; i <= killedSteps; i++ {
		needs := ""
		if i > 1 {
			needs = fmt.Sprintf("needs: [s%d], ", i-1)
		}
		fmt.Fprintf(&b, `  s%d: { %sfunction: { command: [ sh, -c, 'echo "$WOVYR_STEP $WOVYR_IDEMPOTENCY_KEY" >> effects; echo 1' ] } }`+"\n", i, needs)
	}
	return b.String()
}

// victim is one workflow in a folder of its own.
type victim struct {
	*testing.T
	program, folder string
}

func (v *victim) command(ctx context.Context) *exec.Cmd {
	c := exec.CommandContext(ctx, v.program, "run", "killed.yaml", "--data", "data", "--key", "k")
	c.Dir = v.folder
	return c
}

// complete runs the workflow to its end.
func (v *victim) complete() {
	v.Helper()
	c := v.command(v.Context())
	var out, log bytes.Buffer
	c.Stdout, c.Stderr = &out, &log
	require.NoError(v, c.Run(), "%s", &log)
	var result struct{ Status, Outcome string }
	require.NoError(v, json.Unmarshal(out.Bytes(), &result), "%s", &out)
	require.Equal(v, "completed", result.Status)
}

// wreck is what a killed process left behind.
type wreck struct {
	history
	effects map[string][]string
}

// killAfter runs the workflow and kills it after a time, if it has not ended. It returns what is there then.
func (v *victim) killAfter(d time.Duration) wreck {
	v.Helper()
	ctx, cancel := context.WithTimeout(v.Context(), d) // the end of a context kills with SIGKILL
	defer cancel()
	err := v.command(ctx).Run()
	switch exit, ended := err.(*exec.ExitError); {
	case ended:
		require.Equal(v, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal())
	case !errors.Is(err, context.DeadlineExceeded): // that is a kill before the program had begun
		require.NoError(v, err)
	}
	return wreck{v.history(), v.effects()}
}

// check compares what is there at the end with what each kill left. It returns how many steps took effect more than once.
func (v *victim) check(killed []wreck) (twice int) {
	v.Helper()
	effects, h := v.effects(), v.history()
	require.Len(v, h.completed, killedSteps)
	require.Len(v, effects, killedSteps, "each step takes effect, and nothing else does")
	owner := map[string]string{}
	for step := range h.completed { // order-free: each step is looked at for itself
		keys := effects[step]
		require.NotEmpty(v, keys, "%s took no effect", step)
		for _, k := range keys {
			require.Equal(v, keys[0], k, "%s has two idempotency keys", step)
		}
		require.Empty(v, owner[keys[0]], "%s has the idempotency key of another step", step)
		owner[keys[0]] = step
		for i, w := range killed {
			if w.completed[step] {
				require.Equal(v, w.effects[step], keys, "%s was committed before kill %d, and done again", step, i+1)
			}
		}
		require.LessOrEqual(v, len(keys), 1+h.recovered[step], "%s: one more effect for each time that it was interrupted, at most", step)
		require.LessOrEqual(v, h.recovered[step], len(killed), "%s was interrupted more often than there were kills", step)
		if len(keys) > 1 {
			twice++
		}
	}
	return twice
}

// effects returns the idempotency keys under which each step took effect.
func (v *victim) effects() map[string][]string {
	v.Helper()
	text, err := os.ReadFile(filepath.Join(v.folder, "effects"))
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(v, err)
	out := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		step, key, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		require.True(v, ok, "%q", line)
		out[step] = append(out[step], key)
	}
	return out
}

// history is what the store holds of the one execution.
type history struct {
	completed map[string]bool
	recovered map[string]int // how often a worker was found lost while it ran the step
}

func (v *victim) history() history {
	v.Helper()
	h := history{completed: map[string]bool{}, recovered: map[string]int{}}
	if _, err := os.Stat(filepath.Join(v.folder, "data", "wovyr.db")); os.IsNotExist(err) {
		return h // killed before there was a store
	}
	r, err := local.OpenReader(filepath.Join(v.folder, "data"))
	if errors.As(err, new(*sqlite.SchemaError)) {
		return h // killed while the store was made
	}
	require.NoError(v, err)
	defer r.Close()
	rows, _, err := r.Worker.Store.List(v.Context(), "local", eventstore.Filter{}, eventstore.Page{})
	require.NoError(v, err)
	require.LessOrEqual(v, len(rows), 1, "the same run must be found again")
	if len(rows) == 0 {
		return h
	}
	_, err = eventstore.Verify(v.Context(), r.Worker.Store, rows[0].Stream)
	require.NoError(v, err)
	for after := uint64(0); ; {
		events, err := r.Worker.History(v.Context(), rows[0].Stream, after, eventstore.MaxPage)
		require.NoError(v, err)
		if len(events) == 0 {
			return h
		}
		after = events[len(events)-1].Version
		for _, e := range events {
			switch e := e.Event.(type) {
			case workflow.ActivityCompleted:
				require.False(v, h.completed[e.Step], "%s completed twice", e.Step)
				h.completed[e.Step] = true
			case workflow.LeaseExpired:
				h.recovered[e.Step]++
			}
		}
	}
}

// TestKill kills `wovyr run` at random moments and runs it again: it finishes, what was committed is not done twice, and where the kill fell
// between an effect and its commit, the effect is there twice at most, under the same idempotency key.
func TestKill(t *testing.T) {
	program := filepath.Join(t.TempDir(), "wovyr")
	out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	text := killed()
	fresh := func(t *testing.T) *victim {
		v := &victim{t, program, t.TempDir()}
		require.NoError(t, os.WriteFile(filepath.Join(v.folder, "killed.yaml"), []byte(text), 0o600))
		return v
	}
	began := time.Now()
	fresh(t).complete()
	whole := time.Since(began)

	rng := rand.New(rand.NewPCG(*killSeed, 0))
	moment := func() time.Duration { return time.Duration(rng.Int64N(int64(whole))) }
	twice, inside := 0, 0
	for i := range *kills {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			v := fresh(t)
			killed := []wreck{v.killAfter(moment())}
			if i%4 == 3 { // whoever goes on can be killed too
				killed = append(killed, v.killAfter(moment()))
			}
			v.complete()
			twice += v.check(killed)
			if n := len(killed[0].completed); n > 0 && n < killedSteps {
				inside++
			}
		})
	}
	t.Logf("%d kills within %v, %d of them between the first and the last step; %d steps took effect twice", *kills, whole.Round(time.Millisecond), inside, twice)
	require.Positive(t, inside, "no kill fell into the run")
}
