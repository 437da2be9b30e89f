package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/client"
)

// triggers are the scenarios of what comes from outside by itself: it starts executions, and wakes them.
var triggers = []scenario{
	{"an event starts an execution", true, eventStarts},
	{"a webhook starts an execution", false, webhookStarts},
	{"a webhook wakes an execution", false, webhookWakes},
	{"events by every way", false, everyWay},
	{"new versions while events come", false, versionsWhileEvents},
	{"a trigger that fails", false, triggerFails},
}

// Secret is the secret that webhooks of the scenarios are verified by. A target gives it to its workers under this name.
const (
	SecretName  = "e2e_webhooks"
	SecretValue = "not a secret, since it stands here"
)

// started waits for the executions of a workflow, as many as wanted, and returns them as they are then.
func (s *story) started(workflow string, wanted int) []client.Execution {
	s.Helper()
	var items []client.Execution
	s.eventually(fmt.Sprintf("%d executions of %s", wanted, workflow), func() bool {
		page, err := s.Client.List(s.ctx, url.Values{"workflow": {workflow}, "limit": {"200"}})
		items = page.Items
		return err == nil && len(items) >= wanted
	})
	require.Len(s, items, wanted)
	return items
}

// publish sends an event of a type.
func (s *story) publish(id, kind, data string) {
	s.Helper()
	require.NoError(s, s.Client.Publish(s.ctx, client.Signal{ID: id, Type: kind, Source: "e2e", Data: json.RawMessage(data)}))
}

// hook sends a signed request to a webhook and returns status and answer.
func (s *story) hook(path, body string, header ...string) (int, client.Hooked) {
	s.Helper()
	req, err := http.NewRequestWithContext(s.ctx, http.MethodPost, strings.TrimSuffix(s.Client.Server, "/")+path, strings.NewReader(body))
	require.NoError(s, err)
	mac := hmac.New(sha256.New, []byte(SecretValue))
	mac.Write([]byte(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	h := s.Client.HTTP
	if h == nil {
		h = http.DefaultClient
	}
	res, err := h.Do(req)
	require.NoError(s, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(s, err)
	var out client.Hooked
	require.NoError(s, json.Unmarshal(text, &out), "%s", text)
	return res.StatusCode, out
}

// eventStarts: an event from outside starts one execution of each workflow that it matches; what that one emits starts the next, under the same correlation.
func eventStarts(s *story) {
	first, second, kind := s.named("first"), s.named("second"), s.named("Placed")
	s.deploy(`
dsl: wovyr/v1
name: `+first+`
triggers: [ { event: { source: e2e, type: `+kind+`, match: event.data.total > 10, input: { total: '${ event.data.total }' } } } ]
steps:
  tell: { emit: { type: `+kind+`.Paid, key: '${ execution.id }', data: { sum: '${ input.total * 2 }' } } }
`, `
dsl: wovyr/v1
name: `+second+`
triggers: [ { event: { type: `+kind+`.Paid } } ]
output: '${ input.sum }'
steps:
  nap: { timer: { for: 1s } }
`)
	for range 2 {
		s.publish(kind+"/1", kind, `{"total": 5}`)
		s.publish(kind+"/2", kind, `{"total": 50}`)
	}
	one, two := s.started(first, 1)[0], s.started(second, 1)[0]
	s.ended(one.ID, "completed")
	e := s.ended(two.ID, "completed")
	s.output(e, `100`)
	one, err := s.Client.Get(s.ctx, one.ID)
	require.NoError(s, err)
	require.Equal(s, one.Correlation, e.Correlation)
	s.verified(one.ID)
	s.verified(two.ID)
}

// webhookStarts: a signed request starts one execution for each delivery; strangers start nothing.
func webhookStarts(s *story) {
	w := s.named("hooked")
	s.deploy(`
dsl: wovyr/v1
name: ` + w + `
triggers: [ { webhook: { path: /hooks/` + w + `/push, verify: { hmac_sha256: ` + SecretName + `, header: X-Hub-Signature-256 }, input: { kind: '${ event.type }', ref: '${ event.data.ref }' } } } ]
output: '${ input }'
steps:
  a: { function: std.echo, with: '${ input }' }
`)
	address := "/hooks/" + w + "/push"
	status, first := s.hook(address, `{"ref":"main"}`, "X-GitHub-Event", "push", "X-GitHub-Delivery", "1")
	require.Equal(s, http.StatusAccepted, status)
	status, again := s.hook(address, `{"ref":"main"}`, "X-GitHub-Event", "push", "X-GitHub-Delivery", "1")
	require.Equal(s, http.StatusAccepted, status)
	require.Equal(s, client.Hooked{Accepted: true, Execution: first.Execution, Existed: true}, again)
	status, _ = s.hook(address, `{"ref":"main"}`, "X-Hub-Signature-256", "sha256=00")
	require.Equal(s, http.StatusUnauthorized, status)
	status, _ = s.hook(address+"/x", `{}`)
	require.Equal(s, http.StatusNotFound, status)
	s.output(s.ended(first.Execution, "completed"), `{"kind":"push","ref":"main"}`)
	s.started(w, 1)
}

// webhookWakes: a request goes to the execution that waits for what it is about, and starts none.
func webhookWakes(s *story) {
	w := s.named("paid")
	s.deploy(`
dsl: wovyr/v1
name: ` + w + `
triggers: [ { webhook: { path: /` + w + `, verify: { hmac_sha256: ` + SecretName + `, header: X-Hub-Signature-256 }, emit: { type: ` + w + `.Paid, key: event.data.order } } } ]
output: '${ steps.paid.output.data.sum }'
steps:
  paid: { event: { type: ` + w + `.Paid, key: '${ input.order }', from: webhook } }
`)
	one, two := s.start(w, `{"order":"o-1"}`), s.start(w, `{"order":"o-2"}`)
	for _, id := range []string{one, two} {
		s.until(id, "it waits for a webhook", func(e client.Execution) bool { return waitsFor(e, "webhook") })
	}
	for i, body := range []string{`{"order":"o-2","sum":2}`, `{"order":"o-1","sum":1}`} {
		status, out := s.hook("/hooks/"+w, body, "Idempotency-Key", fmt.Sprint(i))
		require.Equal(s, http.StatusAccepted, status)
		require.Empty(s, out.Execution)
	}
	s.output(s.ended(one, "completed"), `1`)
	s.output(s.ended(two, "completed"), `2`)
	s.started(w, 2)
}

// everyWay: a step that says how its event comes takes no other.
func everyWay(s *story) {
	w, key := s.named("ways"), s.named("key")
	s.deploy(`
dsl: wovyr/v1
name: ` + w + `
output: '${ [steps.file.output.data, steps.queue.output.data, steps.bus.output.data] }'
steps:
  file: { event: { type: ` + w + `, key: '${ input.key }', from: file } }
  queue: { event: { type: ` + w + `, key: '${ input.key }', from: queue } }
  bus: { event: { type: ` + w + `, key: '${ input.key }', from: bus } }
`)
	id := s.start(w, fmt.Sprintf(`{"key":%q}`, key))
	s.until(id, "it waits for a file", func(e client.Execution) bool { return waitsFor(e, "file") })
	for i, way := range []string{"", "queue", "file"} {
		require.NoError(s, s.Client.Publish(s.ctx, client.Signal{ID: key + way, Type: w, Key: key, From: way, Data: json.RawMessage(fmt.Sprint(i))}))
	}
	s.output(s.ended(id, "completed"), `[2,1,0]`)
}

// versionsWhileEvents: each event starts one execution, of the version that is the newest then, however many are deployed meanwhile.
func versionsWhileEvents(s *story) {
	w, kind := s.named("moving"), s.named("Moved")
	document := func(v int) string {
		return `
dsl: wovyr/v1
name: ` + w + `
triggers: [ { event: { type: ` + kind + `, input: { n: '${ event.data.n }', v: ` + fmt.Sprint(v) + ` } } } ]
output: '${ input }'
steps:
  a: { value: '${ input.v }' }
`
	}
	s.deploy(document(1))
	const events, versions = 24, 4
	var group sync.WaitGroup
	failed := make([]error, events)
	for i := range events {
		group.Go(func() {
			for range 2 { // and once more, as a sender does that had no answer
				if err := s.Client.Publish(s.ctx, client.Signal{ID: fmt.Sprint(kind, i), Type: kind, Data: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))}); err != nil {
					failed[i] = err
				}
			}
		})
	}
	for v := 2; v <= versions; v++ {
		s.deploy(document(v))
	}
	group.Wait()
	for _, err := range failed {
		require.NoError(s, err)
	}
	seen := map[float64]bool{}
	for _, e := range s.started(w, events) {
		e = s.ended(e.ID, "completed")
		var out struct{ N, V float64 }
		require.NoError(s, json.Unmarshal(e.Output, &out))
		require.Equal(s, fmt.Sprint(out.V), e.Version, "the trigger and the steps are of one version")
		seen[out.N] = true
	}
	require.Len(s, seen, events)
}

// triggerFails: what a trigger cannot start is a dead letter, and starts once the workflow is mended.
func triggerFails(s *story) {
	w, kind := s.named("failing"), s.named("Failing")
	document := func(field string) string {
		return `
dsl: wovyr/v1
name: ` + w + `
triggers: [ { event: { type: ` + kind + `, input: '${ event.data.` + field + ` }' } } ]
output: '${ input }'
steps:
  a: { value: 1 }
`
	}
	s.deploy(document("total"))
	s.publish(kind+"-1", kind, `{"sum": 7}`)
	var letter client.DeadLetter
	s.eventually("a dead letter", func() bool {
		page, err := s.Client.DeadLetters(s.ctx, url.Values{"limit": {"1000"}})
		for _, d := range page.Items {
			if strings.Contains(d.ID, w) {
				letter = d
			}
		}
		return err == nil && letter.ID != ""
	})
	require.Equal(s, "expression.missing", letter.Code)
	s.deploy(document("sum"))
	require.NoError(s, s.Client.RedriveLetter(s.ctx, letter.ID, client.LetterMove{By: "ann"}))
	s.output(s.ended(s.started(w, 1)[0].ID, "completed"), `7`)
}
