package graph

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/workflow"
)

func template(v any) *workflow.Template {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return &workflow.Template{JSON: b}
}

func expr(source string) *workflow.Expr { return &workflow.Expr{Source: source} }

func fixed(n int64) *workflow.Count { return &workflow.Count{Fixed: n} }

func call(name string, kind workflow.Kind, needs ...workflow.Need) workflow.Step {
	return workflow.Step{Name: name, Kind: kind, Needs: needs, Call: &workflow.Call{Name: name, Target: template(name)}}
}

func need(step string) workflow.Need { return workflow.Need{Step: step, End: workflow.EndMet} }

// story is a definition with each role of edges, nested bodies, a race and an exit step.
func story() *workflow.Definition {
	approve := workflow.Step{Name: "approve", Kind: workflow.KindHuman, When: expr("input.total > 1000"),
		Needs: []workflow.Need{{Step: "risk", End: workflow.EndMet, Implied: true}}, Human: &workflow.Human{Title: template("Approve ${ input.id }")}}
	charge := workflow.Step{Name: "charge", Kind: workflow.KindHTTP, Needs: []workflow.Need{need("approve"), {Step: "reserve", End: workflow.EndCompleted}},
		Call:       &workflow.Call{Target: template(map[string]any{"method": "POST", "url": "https://pay.example/charges"})},
		Compensate: &workflow.Compensate{Kind: workflow.KindFunction, Call: &workflow.Call{Name: "refund"}},
		OnError:    []workflow.Handler{{Match: expr(`error.code == "card.declined"`), Then: []string{"ask"}}, {Continue: template(nil)}}}
	ask := workflow.Step{Name: "ask", Kind: workflow.KindEvent, Picked: []string{"charge"}, Needs: []workflow.Need{{Step: "charge", End: workflow.EndMet, Implied: true}},
		Event: &workflow.EventWait{Any: []workflow.EventPattern{{Type: "NewCard"}, {Type: "GiveUp"}}}}
	route := workflow.Step{Name: "route", Kind: workflow.KindSwitch, Needs: []workflow.Need{need("charge")},
		Switch: &workflow.Switch{Branches: []workflow.Branch{{When: expr("input.vip"), Then: []string{"gift", "parcels"}}, {Then: []string{"parcels"}}}}}
	gift := workflow.Step{Name: "gift", Kind: workflow.KindWorkflow, Picked: []string{"route"}, Child: &workflow.Child{Name: template("send-gift"), Version: template("live")}}
	parcels := workflow.Step{Name: "parcels", Kind: workflow.KindForeach, Picked: []string{"route"}, Foreach: &workflow.Foreach{
		Items: template("${ input.parcels }"), As: "parcel", Body: workflow.Body{Steps: []workflow.Step{
			call("pack", workflow.KindFunction),
			{Name: "arrival", Kind: workflow.KindRace, Needs: []workflow.Need{need("pack")}, Race: &workflow.Race{Branches: []workflow.RaceBranch{
				{Name: "arrived", Body: workflow.Body{Steps: []workflow.Step{{Name: "signed", Kind: workflow.KindEvent, Event: &workflow.EventWait{Any: []workflow.EventPattern{{Type: "Signed"}}}}}}},
				{Name: "lost", Body: workflow.Body{Steps: []workflow.Step{{Name: "days", Kind: workflow.KindTimer, Timer: &workflow.Timer{For: &workflow.Duration{Fixed: 10 * 24 * 3600e9}}}}}},
			}}},
		}}}}
	done := workflow.Step{Name: "done", Kind: workflow.KindEmit, Needs: []workflow.Need{need("gift"), need("parcels")},
		Join: workflow.Join{Mode: workflow.JoinCount, Count: fixed(1)}, Emit: &workflow.Emit{Type: template("OrderDone")}}
	notify := call("notify", workflow.KindFunction)
	notify.Exit = true
	return &workflow.Definition{Name: "story", Description: "All that a picture shows.", Body: workflow.Body{Steps: []workflow.Step{
		call("reserve", workflow.KindFunction), call("risk", workflow.KindAI), approve, charge, ask, route, gift, parcels, done, notify,
	}}}
}

func TestOf(t *testing.T) {
	g := Of(story())
	var edges []string
	for _, e := range g.Body.Edges {
		edges = append(edges, g.Body.Nodes[e.From].Name+" "+string(e.Role)+" "+g.Body.Nodes[e.To].Name+prefixed(": ", e.Label))
	}
	require.Equal(t, []string{
		"risk implied approve",
		"approve need charge",
		"reserve need charge: completed",
		`charge then ask: on error: error.code == "card.declined"`,
		"charge need route",
		"route then gift: input.vip",
		"route then parcels: input.vip",
		"route then parcels: else",
		"gift need done",
		"parcels need done",
	}, edges)
	require.Equal(t, "notify", g.Exit.Nodes[0].ID)
	require.Equal(t, "parcels/arrival/lost/days", g.Body.Nodes[7].Clusters[0].Body.Nodes[1].Clusters[1].Body.Nodes[0].ID)
}

func TestDetails(t *testing.T) {
	tests := []struct {
		name  string
		step  workflow.Step
		want  string
		notes []string
	}{
		{"function", call("inventory.reserve", workflow.KindFunction), "inventory.reserve", nil},
		{"lambda", workflow.Step{Kind: workflow.KindFunction, Call: &workflow.Call{Target: template(map[string]any{"arn": "arn:aws:lambda:x"})}}, "arn:aws:lambda:x", nil},
		{"command", workflow.Step{Kind: workflow.KindFunction, Call: &workflow.Call{Target: template(map[string]any{"command": []string{"a", "b"}})}}, `["a","b"]`, nil},
		{"http", workflow.Step{Kind: workflow.KindHTTP, Call: &workflow.Call{Target: template(map[string]any{"url": "https://a", "method": "GET", "body": 1})}}, "GET https://a", nil},
		{"script", workflow.Step{Kind: workflow.KindScript, Call: &workflow.Call{Target: template(map[string]any{"js": "return 1"})}}, "js", nil},
		{"ai", workflow.Step{Kind: workflow.KindAI, Call: &workflow.Call{Target: template(map[string]any{"model": "default", "prompt": "x"})}}, "default", nil},
		{"a kind of a user", workflow.Step{Kind: "sms", Call: &workflow.Call{Target: template(map[string]any{"to": 1})}}, "", nil},
		{"no target", workflow.Step{Kind: workflow.KindHTTP, Call: &workflow.Call{}}, "", nil},
		{"two weeks", workflow.Step{Timer: &workflow.Timer{For: &workflow.Duration{Fixed: 14 * 24 * 3600e9}}}, "for 14d", nil},
		{"a day and a half", workflow.Step{Timer: &workflow.Timer{For: &workflow.Duration{Fixed: 36 * 3600e9}}}, "for 1d12h", nil},
		{"half an hour", workflow.Step{Timer: &workflow.Timer{For: &workflow.Duration{Fixed: 1800e9}}}, "for 30m", nil},
		{"ten hours ten", workflow.Step{Timer: &workflow.Timer{For: &workflow.Duration{Fixed: 36600e9}}}, "for 10h10m", nil},
		{"milliseconds", workflow.Step{Timer: &workflow.Timer{For: &workflow.Duration{Fixed: 250e6}}}, "for 250ms", nil},
		{"nothing", workflow.Step{Timer: &workflow.Timer{For: &workflow.Duration{}}}, "for 0s", nil},
		{"computed", workflow.Step{Timer: &workflow.Timer{For: &workflow.Duration{Expr: expr("input.\n  wait")}}}, "for input. wait", nil},
		{"until", workflow.Step{Timer: &workflow.Timer{Until: template("${ input.at }")}}, "until input.at", nil},
		{"cron", workflow.Step{Timer: &workflow.Timer{Cron: "0 9 * * MON", Timezone: "Europe/Paris"}}, "cron 0 9 * * MON Europe/Paris", nil},
		{"loop", workflow.Step{Loop: &workflow.Loop{Until: expr("steps.a.output"), Max: *fixed(3)}}, "until steps.a.output, at most 3 times", nil},
		{"set", workflow.Step{Set: &workflow.Set{Assign: []workflow.Assignment{{Var: "a"}, {Var: "b", Reduce: "sum"}}}}, "a, b by sum", nil},
		{"fail", workflow.Step{Fail: &workflow.Fail{Code: template("a.b")}}, "a.b", nil},
		{"value", workflow.Step{Value: template(map[string]any{"a": 1})}, `{"a":1}`, nil},
		{"null", workflow.Step{Value: template(nil)}, "null", nil},
		{"text around expressions", workflow.Step{Value: template("${ a } and ${ b }")}, "${ a } and ${ b }", nil},
		{"notes", workflow.Step{When: expr("a"), Needs: []workflow.Need{need("x"), need("y")}, Join: workflow.Join{Mode: workflow.JoinAny}, Value: template(1),
			Compensate: &workflow.Compensate{Kind: workflow.KindWorkflow, Child: &workflow.Child{Name: template("undo")}}}, "1", []string{"when a", "any of 2", "undo: workflow undo"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, detail(&test.step))
			require.Equal(t, test.notes, notes(&test.step))
		})
	}
}

// requireXML reads an SVG to its end.
func requireXML(t require.TestingT, svg string) {
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}
