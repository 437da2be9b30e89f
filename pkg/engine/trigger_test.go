package engine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// triggersOf compiles the triggers of a workflow.
func triggersOf(t *testing.T, list string) []workflow.Trigger {
	t.Helper()
	def, diagnostics := dsl.Compile("t.yaml", []byte("dsl: wovyr/v1\nname: t\ntriggers: "+list+"\nsteps: { a: { value: 1 } }\n"))
	require.NotNil(t, def, "%v", diagnostics)
	return def.Triggers
}

// TestTriggered: what starts an execution is decided by the event alone, the same each time.
func TestTriggered(t *testing.T) {
	e := workflow.EarlyEvent{ID: "1", Kind: "Paid", Key: "k", Source: "shop", ReceivedAt: 1e9, Data: workflow.Inline(workflow.Value(`{"sum":5}`))}
	for trigger, want := range map[string]string{
		"{ type: Paid }":                            `{"sum":5}`,
		"{ type: Paid, source: shop }":              `{"sum":5}`,
		"{ type: Paid, source: desk }":              "",
		"{ type: Other }":                           "",
		"{ type: Paid, match: event.data.sum > 5 }": "",
		"{ type: Paid, match: event.data.sum > 4, input: '${ event.data.sum }' }":  `5`,
		"{ type: Paid, input: [ '${ event.id }', '${ event.key }', 7 ] }":          `["1","k",7]`,
		"{ type: Paid, input: 'at ${ event.received_at } by ${ event.source }' }":  `"at 1970-01-01T00:00:01Z by shop"`,
		"{ type: Paid, match: event.data.tax > 4 }":                                "expression.missing",
		"{ type: Paid, input: '${ event.data.tax }' }":                             "expression.missing",
		"{ type: Paid, match: event.data.sum == 6, input: '${ event.data.tax }' }": "",
	} {
		input, starts, err := Triggered(triggersOf(t, "[ { event: "+trigger+" } ]")[0].Event, e)
		switch {
		case err != nil:
			require.Equal(t, want, err.Code, trigger)
			require.False(t, starts, trigger)
		case !starts:
			require.Empty(t, want, trigger)
		default:
			require.Equal(t, want, input.JSON.String(), trigger)
		}
	}
	input, starts, err := Triggered(&workflow.EventTrigger{Type: "Paid"}, workflow.EarlyEvent{ID: "1", Kind: "Paid"})
	require.Nil(t, err)
	require.True(t, starts)
	require.Equal(t, "null", input.JSON.String())
}

// TestHookEvent: a request becomes the event that the webhook says, within the bounds that every event has.
func TestHookEvent(t *testing.T) {
	request := workflow.EarlyEvent{ID: "1", Kind: "push", Source: "/hooks/a", From: "webhook", Data: workflow.Inline(workflow.Value(`{"n":7,"text":"` + strings.Repeat("x", MaxValue) + `"}`))}
	for emit, want := range map[string]string{
		"{ type: Paid, data: 1 }": `Paid//1`,
		"{ type: 'git.${ event.type }', key: event.data.n, data: '${ event.data.n + 1 }' }": `git.push/7/8`,
		"{ type: Paid }": "payload.too_large",
		"{ type: '${ event.data.text }', data: 1 }":                       "event.type",
		"{ type: '${ event.key }', data: 1 }":                             "expression.type",
		"{ type: Paid, key: event.data.text, data: 1 }":                   "payload.too_large",
		"{ type: Paid, key: event.data.nothing, data: 1 }":                "expression.missing",
		"{ type: Paid, key: event.id, data: '${ 1 / event.data.zero }' }": "expression.missing",
	} {
		e, err := HookEvent(triggersOf(t, "[ { webhook: { path: /a, verify: { bearer: k }, emit: "+emit+" } } ]")[0].Webhook, request)
		if err != nil {
			require.Equal(t, want, err.Code, "%s: %s", emit, err.Message)
			continue
		}
		require.Equal(t, want, e.Kind+"/"+e.Key+"/"+e.Data.JSON.String(), emit)
		require.Equal(t, "webhook", e.From)
		require.Equal(t, "/hooks/a", e.Source)
	}
}
