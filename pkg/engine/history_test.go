package engine_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/workflow"
	"github.com/wovyr/wovyr/pkg/workflow/codec"
)

// histories is where recorded histories stand, one folder for each format of commits.
const histories = "testdata/histories/v1"

// recorded is a history as a release wrote it, with what must come out of it for ever.
type recorded struct {
	Story      string            `json:"story"`
	Execution  string            `json:"execution"`
	Definition json.RawMessage   `json:"definition"`
	Commits    []json.RawMessage `json:"commits"`
	Status     string            `json:"status"`
	Version    uint64            `json:"version"`
	// State is the SHA-256 of the JSON form of the state.
	State string `json:"state"`
}

// toRecord are the stories whose executions are recorded: each kind of step, of wait, of failure and of end.
var toRecord = strings.Fields(`
	flow-sequence flow-parallel flow-when-false flow-when-fails flow-set flow-set-reduce flow-emit flow-fail flow-output-fails
	flow-step-fields flow-switch flow-match flow-needs-ends flow-dead-chain flow-uncaught-beside-running flow-max-parallelism
	flow-continue-as-new flow-on-exit flow-on-exit-failed join-any-cancel-rest join-n-expression join-unreachable-caught
	foreach-basic foreach-tolerate-exceeded foreach-until foreach-nested foreach-shards foreach-shard-inside loop-until loop-delay
	loop-collect race-first-wins race-worker-loses race-all-failed group-timeout group-failure nested-everything
	nested-group-in-loop-undo wait-timer wait-timer-cron wait-event wait-event-early-signal wait-event-cursor wait-event-timeout
	wait-human-approve wait-human-reject wait-human-remind-escalate wait-human-timeout-continue wait-callback wait-callback-timeout
	wait-child-together wait-child-retry wait-child-cancel-before-start wait-child-no-wait wait-reasons retry-exponential retry-jitter
	recovery-lease recovery-not-idempotent timeout-activity timeout-schedule timeout-workflow-undo timeout-several-due
	error-caught-then error-caught-continue error-secret-stays-out undo-reverse undo-foreach undo-stops undo-shards undo-with-exit
	cancel-immediate cancel-graceful cancel-compensated cancel-waiting pause-on-failure pause-resume pause-timeout redrive-earlier-step
	redrive-foreach redrive-undo-later agent-turns agent-approval late-results batch-many owner-changes claim-found
`)

// TestRecordedHistoriesReplay: what a release wrote is read for ever, and gives the state that it gave then. The files are
// append-only: SUMS pins their content, and -update writes those that are missing and never changes one.
func TestRecordedHistoriesReplay(t *testing.T) {
	if *update {
		for _, story := range toRecord {
			record(t, story)
		}
	}
	files, err := filepath.Glob(histories + "/*.json")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 40)
	checkSums(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			var r recorded
			require.NoError(t, json.Unmarshal(data, &r))
			state := r.replay(t)
			require.Equal(t, r.Status, state.Status.String())
			require.Equal(t, r.Version, state.Version)
			require.Equal(t, r.State, stateSum(t, state), "the state differs from the one of the release that wrote the history")
		})
	}
}

// replay folds the history, in one go and commit by commit.
func (r *recorded) replay(t *testing.T) *workflow.State {
	var def workflow.Definition
	require.NoError(t, json.Unmarshal(r.Definition, &def))
	p, err := engine.Link(&def)
	require.NoError(t, err)
	var all []workflow.Recorded
	var step *workflow.State
	for _, c := range r.Commits {
		b, err := codec.Decode(c)
		require.NoError(t, err)
		events := b.Recorded(uint64(len(all)) + 1)
		step, err = engine.Replay(p, step, events)
		require.NoError(t, err)
		all = append(all, b.Recorded(uint64(len(all))+1)...)
	}
	whole, err := engine.Replay(p, nil, all)
	require.NoError(t, err)
	require.Equal(t, stateSum(t, whole), stateSum(t, step))
	return whole
}

func stateSum(t *testing.T, s *workflow.State) string {
	text, err := json.Marshal(s)
	require.NoError(t, err)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// record tells a story and writes the histories of its executions that are not recorded yet.
func record(t *testing.T, story string) {
	s, err := readScript("testdata/scenarios/" + story + ".txt")
	require.NoError(t, err)
	_, w := tell(t, s)
	ids := make([]string, 0, len(w.executions))
	for id, x := range w.executions {
		if len(x.commits) > 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for i, id := range ids {
		name := story
		if i > 0 {
			name = fmt.Sprintf("%s-%d", story, i+1)
		}
		file := histories + "/" + name + ".json"
		if _, err := os.Stat(file); err != nil {
			require.NoError(t, os.MkdirAll(histories, 0o755))
			require.NoError(t, os.WriteFile(file, w.executions[id].record(t, story), 0o644))
			appendSum(t, file)
		}
	}
}

func (x *execution) record(t *testing.T, story string) []byte {
	r := recorded{Story: story, Execution: x.id, Status: x.state.Status.String(), Version: x.state.Version, State: stateSum(t, x.state)}
	var err error
	r.Definition, err = json.Marshal(x.def)
	require.NoError(t, err)
	for _, c := range x.commits {
		b, err := codec.Decode(c)
		require.NoError(t, err)
		text, err := codec.JSON{}.Encode(b)
		require.NoError(t, err)
		r.Commits = append(r.Commits, text)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	require.NoError(t, e.Encode(r))
	return out.Bytes()
}

const sums = histories + "/SUMS"

func fileSum(t *testing.T, file string) string {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func appendSum(t *testing.T, file string) {
	f, err := os.OpenFile(sums, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	require.NoError(t, err)
	_, err = fmt.Fprintf(f, "%s  %s\n", fileSum(t, file), filepath.Base(file))
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// checkSums: each file is listed with its content, and each listed file is there.
func checkSums(t *testing.T, files []string) {
	data, err := os.ReadFile(sums)
	require.NoError(t, err)
	var want, got []string
	for _, file := range files {
		got = append(got, fileSum(t, file)+"  "+filepath.Base(file))
	}
	for line := range strings.Lines(string(data)) {
		want = append(want, strings.TrimSpace(line))
	}
	slices.Sort(want)
	slices.Sort(got)
	require.Equal(t, want, got, "recorded histories are never changed or removed: record new ones beside them")
}
