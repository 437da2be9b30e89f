//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/client"
)

// served is what the killed server runs: two steps with an effect, a timer, an event to wait for, and a step with an effect.
const served = `
dsl: wovyr/v1
name: served
limits: { timeout: 1d }
steps:
  a: { function: { command: [ sh, -c, 'echo "$WOVYR_EXECUTION/$WOVYR_STEP $WOVYR_IDEMPOTENCY_KEY" >> effects; echo 1' ] } }
  t: { needs: [a], timer: { for: 100ms } }
  b: { needs: [t], function: { command: [ sh, -c, 'echo "$WOVYR_EXECUTION/$WOVYR_STEP $WOVYR_IDEMPOTENCY_KEY" >> effects; echo 1' ] } }
  e: { needs: [b], event: { type: Go } }
  c: { needs: [e], function: { command: [ sh, -c, 'echo "$WOVYR_EXECUTION/$WOVYR_STEP $WOVYR_IDEMPOTENCY_KEY" >> effects; echo 1' ] } }
`

// server is one life of "wovyr dev".
type server struct {
	*client.Client
	process *exec.Cmd
}

func (v *victim) serve() *server {
	v.Helper()
	c := exec.Command(v.program, "dev", "served.yaml", "--data", "data", "--listen", "127.0.0.1:0")
	c.Dir = v.folder
	log, err := c.StderrPipe()
	require.NoError(v, err)
	require.NoError(v, c.Start())
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if _, at, ok := strings.Cut(lines.Text(), "Serving at "); ok {
			go func() {
				for lines.Scan() { // so that it never waits for its reader
				}
			}()
			url, _, _ := strings.Cut(at, " ")
			return &server{&client.Client{Server: url}, c}
		}
	}
	v.Fatal("the server did not come up")
	return nil
}

func (s *server) kill() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

// order is one execution as its client knows it.
type order struct {
	key       string
	id        string // once the start was answered
	signalled bool   // once the signal was answered
}

// ask starts the execution and sends its event, as far as the server answers, and tells of each answer.
func (o *order) ask(ctx context.Context, s *server, answered func()) error {
	if o.id == "" {
		e, err := s.Start(ctx, client.StartRequest{Workflow: "served", Key: o.key})
		if err != nil {
			return err
		}
		o.id = e.ID
		answered()
	}
	if !o.signalled {
		if err := s.Signal(ctx, o.id, client.Signal{ID: "go-" + o.key, Type: "Go"}); err != nil {
			return err
		}
		o.signalled = true
		answered()
	}
	return nil
}

// end waits for the end of the execution.
func (o *order) end(ctx context.Context, s *server) (client.Execution, error) {
	e, err := s.Wait(ctx, o.id)
	for err == nil && !e.Ended() {
		e, err = s.Wait(ctx, o.id)
	}
	return e, err
}

// TestKillServer kills `wovyr dev` while clients start executions and signal them: whatever it had answered is there when it comes up again, a
// start that is repeated finds its execution, and no effect comes twice but where the kill interrupted its step.
func TestKillServer(t *testing.T) {
	program := filepath.Join(t.TempDir(), "wovyr")
	out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	rng := rand.New(rand.NewPCG(*killSeed, 1))
	asked, answered := 0, 0
	for round := range max(2, *kills/5) {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			v := &victim{t, program, t.TempDir()}
			require.NoError(t, os.WriteFile(filepath.Join(v.folder, "served.yaml"), []byte(served), 0o600))
			orders := make([]*order, 24)
			for i := range orders {
				orders[i] = &order{key: fmt.Sprint("order-", i)}
			}
			s := v.serve()
			answers := make(chan bool, 3*len(orders))
			tell := func() { answers <- true }
			var clients sync.WaitGroup
			for _, o := range orders {
				clients.Go(func() {
					if o.ask(context.Background(), s, tell) == nil {
						if _, err := o.end(context.Background(), s); err == nil {
							tell()
						}
					}
				})
			}
			for range rng.IntN(3 * len(orders)) {
				<-answers
			}
			s.kill()
			clients.Wait()

			s = v.serve()
			defer s.kill()
			for _, o := range orders {
				asked++
				if o.signalled {
					answered++
					continue // it was told that both are safe
				}
				id := o.id
				require.NoError(t, o.ask(t.Context(), s, func() {}))
				require.True(t, id == "" || id == o.id)
			}
			seen := map[string]bool{}
			for _, o := range orders {
				e, err := o.end(t.Context(), s)
				require.NoError(t, err, "%s was answered for and is not there", o.id)
				require.Equal(t, "completed", e.Outcome)
				require.False(t, seen[o.id], "two keys have one execution")
				seen[o.id] = true
			}
			list, err := s.List(t.Context(), nil)
			require.NoError(t, err)
			require.Len(t, list.Items, len(orders), "each key has one execution")
			v.checkServed(s, orders)
		})
	}
	t.Logf("%d executions, %d of them fully answered for before the kill", asked, answered)
}

// checkServed compares the effects with the histories.
func (v *victim) checkServed(s *server, orders []*order) {
	v.Helper()
	effects := v.effects()
	require.Len(v, effects, 3*len(orders))
	for _, o := range orders {
		recovered := map[string]int{}
		for after := ""; ; {
			page, err := s.History(v.Context(), o.id, after)
			require.NoError(v, err)
			for _, e := range page.Items {
				if e.Type == "LeaseExpired" {
					recovered[e.Step]++
				}
			}
			if after = page.Next; len(page.Items) == 0 {
				break
			}
		}
		for _, step := range []string{"a", "b", "c"} {
			keys := effects[o.id+"/"+step]
			require.NotEmpty(v, keys)
			for _, k := range keys {
				require.Equal(v, o.id+"/"+step, k)
			}
			require.LessOrEqual(v, len(keys), 1+recovered[step], "%s/%s", o.id, step)
			require.LessOrEqual(v, recovered[step], 1, "there was one kill")
		}
		_, err := s.Verify(v.Context(), o.id)
		require.NoError(v, err)
	}
}
