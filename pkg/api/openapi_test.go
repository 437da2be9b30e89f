package api

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/wovyr/wovyr/pkg/client"
)

// TestOpenAPI: the document describes all routes and no others, and the wire types with all their fields.
func TestOpenAPI(t *testing.T) {
	text, err := os.ReadFile("../../docs/openapi.yaml")
	require.NoError(t, err)
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []parameter    `yaml:"parameters"`
			Responses  map[string]any `yaml:"responses"`
		} `yaml:"paths"`
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any `yaml:"properties"`
			} `yaml:"schemas"`
		} `yaml:"components"`
	}
	require.NoError(t, yaml.Unmarshal(text, &doc))
	var described []string
	routes := map[string]route{}
	for pattern, to := range (&Server{}).routes() {
		routes[strings.Replace(pattern, "...}", "}", 1)] = to
	}
	for path, methods := range doc.Paths {
		for method, operation := range methods {
			name := strings.ToUpper(method) + " " + path
			described = append(described, name)
			var query []string
			for _, p := range operation.Parameters {
				switch p.In {
				case "query":
					query = append(query, p.Name)
					p.sameValues(t)
				case "path":
					require.Contains(t, path, "{"+p.Name+"}")
				}
			}
			require.ElementsMatch(t, routes[name].query, query, name)
			require.Contains(t, operation.Responses, "default", name)
		}
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(routes)), described)

	for _, of := range []any{
		client.Execution{}, client.Held{}, client.Task{}, client.Event{}, client.Deployed{}, client.StartRequest{}, client.Signal{}, client.CancelRequest{}, client.Decision{},
		client.CallbackAnswer{}, client.OperatorMove{}, client.RedriveRequest{}, client.Proof{}, client.Problem{},
		client.DeadLetter{}, client.LetterMove{}, client.Hooked{},
	} {
		typ := reflect.TypeOf(of)
		var fields []string
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			fields = append(fields, name)
		}
		require.ElementsMatch(t, fields, slices.Collect(maps.Keys(doc.Components.Schemas[typ.Name()].Properties)), typ.Name())
	}
	for _, ref := range strings.Split(string(text), "#/components/schemas/")[1:] {
		name, _, _ := strings.Cut(ref, "'")
		require.Contains(t, doc.Components.Schemas, name)
	}
}

// parameter is one word of a query, or one part of a path.
type parameter struct {
	Name, In string
	Schema   struct {
		Type string
		Enum []string
	}
}

// sameValues: what the document says of a word's values is what the code takes.
func (p parameter) sameValues(t *testing.T) {
	t.Helper()
	for name, known := range map[string][]string{"status": statuses(), "outcome": outcomes()} {
		if p.Name == name {
			require.Equal(t, known, p.Schema.Enum, name)
		}
	}
	if p.Name == "open" || p.Name == "wait" {
		require.Equal(t, "boolean", p.Schema.Type)
	}
}
