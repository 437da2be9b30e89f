package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/activitytest"
	"github.com/wovyr/wovyr/pkg/cli"
)

func open(t *testing.T) *sql.DB {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "stock.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// TestContract: the suite that every kind of Wovyr runs takes kinds of one's own too.
func TestContract(t *testing.T) {
	type with = map[string]any
	activitytest.Run(t, func(t *testing.T) activitytest.Subject {
		db := open(t)
		_, err := db.Exec(`PRAGMA journal_mode = WAL; PRAGMA busy_timeout = 60000; CREATE TABLE seen (key TEXT)`)
		require.NoError(t, err)
		db.SetMaxOpenConns(1) // SQLite has one writer
		functions := activity.NewRegistry()
		require.NoError(t, functions.Functions.Add(activity.Custom(Query{DB: db}.Kind())))
		kind, err := functions.Find("function")
		require.NoError(t, err)
		const endless = `WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT `
		return activitytest.Subject{
			Kind:     kind,
			Succeeds: activitytest.Call{Target: "sql.query", With: with{"sql": `INSERT INTO seen VALUES (:key) RETURNING :n + 1 AS n`, "args": with{"n": 1}}, Output: `{"rows":[{"n":2}]}`},
			Hangs:    activitytest.Call{Target: "sql.query", With: with{"sql": endless + `COUNT(*) FROM c`}},
			Fails: []activitytest.Call{
				{Name: "no table", Target: "sql.query", With: with{"sql": `SELECT * FROM nothing`}, Code: "sql.statement"},
				{Name: "no statement", Target: "sql.query", With: with{"statement": `SELECT 1`}, Code: activity.CodeInput},
			},
			Floods: activitytest.Call{Target: "sql.query", With: with{"sql": endless + `'twenty letters of it' FROM c`}},
			Leaks: []activitytest.Call{
				{Name: "in a row", Target: "sql.query", With: with{"sql": `SELECT :s AS s, HEX(:s) AS h`, "args": with{"s": activitytest.Secret}}},
				{Name: "in the statement", Target: "sql.query", With: with{"sql": `SELECT * FROM '` + activitytest.Secret + `'`}},
			},
			Key: func() (key string) {
				require.NoError(t, db.QueryRow(`SELECT key FROM seen ORDER BY rowid DESC LIMIT 1`).Scan(&key))
				return key
			},
			Close: func() { require.NoError(t, db.Close()) },
		}
	})
}

// TestWorkflowCallsTheKind runs the workflow as the program does.
func TestWorkflowCallsTheKind(t *testing.T) {
	kind := activity.Custom(Query{DB: open(t)}.Kind())
	data := t.TempDir()
	run := func(file, input string) (code int, out struct {
		Output json.RawMessage
		Error  *activity.Error
	}) {
		var stdout bytes.Buffer
		env := cli.Environment{In: strings.NewReader(""), Out: &stdout, Err: io.Discard, Functions: []activity.Function{kind}}
		code = cli.Run(env, []string{"run", file, "--input", input, "--data", data, "--new"})
		require.NoError(t, json.Unmarshal(stdout.Bytes(), &out), stdout.String())
		return code, out
	}
	code, out := run("stock.yaml", `{}`)
	require.Equal(t, 0, code, out.Error)
	require.JSONEq(t, `[{"sku": "pen", "quantity": 12}]`, string(out.Output))
	_, out = run("stock.yaml", `{"pens": 3}`)
	require.JSONEq(t, `[{"sku": "pen", "quantity": 15}]`, string(out.Output))

	code, out = run("testdata/wrong.yaml", `{}`)
	require.Equal(t, 1, code)
	require.Equal(t, activity.CodeInput, out.Error.Code)
	require.Contains(t, out.Error.Message, "the input of function does not fit its JSON Schema", "the worker checks the schema of the kind")
}
