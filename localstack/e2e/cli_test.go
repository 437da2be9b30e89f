package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/cli"
)

// command runs the command line against the stack, and reads its JSON.
func command(t *testing.T, code int, out any, args ...string) (problems string) {
	t.Helper()
	var text, errs bytes.Buffer
	got := cli.Run(cli.Environment{Out: &text, Err: &errs}, append(args, "--stack", *name))
	require.Equal(t, code, got, "%v\n%s\n%s", args, &text, &errs)
	if out != nil {
		require.NoError(t, json.Unmarshal(text.Bytes(), out), "%s", &text)
	}
	return errs.String()
}

// TestCommandLine goes the way of docs/deploy.md: deploy, start, look, decide; then the index loses rows, and is rebuilt from the histories.
func TestCommandLine(t *testing.T) {
	d := open(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	w := fmt.Sprintf("cli-%d", time.Now().UnixNano())
	file := filepath.Join(t.TempDir(), "w.yaml")
	require.NoError(t, os.WriteFile(file, []byte("dsl: wovyr/v1\nname: "+w+"\nlimits: { timeout: 1d }\nsteps:\n  say: { function: std.echo, with: '${ input }' }\n  ok: { needs: [ say ], human: { title: 'Fine?' } }\noutput: '${ steps.say.output }'\n"), 0o600))
	command(t, 0, nil, "deploy", file)
	type execution struct {
		ID     string          `json:"execution_id"`
		Status string          `json:"status"`
		Output json.RawMessage `json:"output"`
	}
	var started [3]execution
	for i := range started {
		command(t, 0, &started[i], "start", w, "--input", fmt.Sprintf(`{"n":%d}`, i), "--key", fmt.Sprint(w, i), "-o", "json")
	}
	listed := func(n int) []execution {
		return eventually(t, "the list has them, waiting", func() ([]execution, bool) {
			var list []execution
			command(t, 0, &list, "list", "--workflow", w, "--status", "waiting", "-o", "json")
			return list, len(list) == n
		})
	}
	listed(3)

	table := dynamodb.NewFromConfig(d.cfg)
	index := d.outputs[stack.OutputIndex]
	row := func(i int) map[string]types.AttributeValue {
		return map[string]types.AttributeValue{"p": &types.AttributeValueMemberS{Value: "default/" + started[i].ID}}
	}
	_, err := table.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &index, Key: row(0)})
	require.NoError(t, err)
	_, err = table.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: &index, Key: row(1), UpdateExpression: aws.String("SET z = :z, v = :v"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":z": &types.AttributeValueMemberB{Value: []byte{1, 0, 0, 0}}, ":v": &types.AttributeValueMemberN{Value: "999999"}}})
	require.NoError(t, err)
	listed(1)
	var report struct {
		Differences []struct {
			Execution string `json:"execution_id"`
			Kind      string `json:"kind"`
			Repaired  bool   `json:"repaired"`
		} `json:"differences"`
	}
	var text, errs bytes.Buffer
	cli.Run(cli.Environment{Out: &text, Err: &errs}, []string{"index", "rebuild", "--stack", *name, "-o", "json"}) // other tests leave poison: the code says so
	require.NoError(t, json.Unmarshal(text.Bytes(), &report), "%s", &errs)
	kinds := map[string]string{}
	for _, x := range report.Differences {
		if x.Repaired {
			kinds[x.Execution] = x.Kind
		}
	}
	require.Equal(t, "wrong", kinds[started[1].ID], "%s", &text)
	listed(3) // the one without a row moved within the last minute: that is put right, and no difference

	for i := range started {
		command(t, 0, nil, "task", "approve", started[i].ID, "ok")
		ended := eventually(t, "it ends", func() (execution, bool) {
			var e execution
			command(t, 0, &e, "get", started[i].ID, "-o", "json")
			return e, e.Status == "completed"
		})
		require.JSONEq(t, fmt.Sprintf(`{"n":%d}`, i), string(ended.Output))
		command(t, 0, nil, "verify", started[i].ID)
	}
	require.Contains(t, command(t, 2, nil, "get", "nobody"), "wovyr list")
}
