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
		Paths      map[string]map[string]any `yaml:"paths"`
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any `yaml:"properties"`
			} `yaml:"schemas"`
		} `yaml:"components"`
	}
	require.NoError(t, yaml.Unmarshal(text, &doc))
	var described []string
	for path, methods := range doc.Paths {
		for method := range methods {
			described = append(described, strings.ToUpper(method)+" "+path)
		}
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys((&Server{}).routes())), described)

	for _, of := range []any{
		client.Execution{}, client.Task{}, client.Event{}, client.Deployed{}, client.StartRequest{}, client.Signal{}, client.CancelRequest{}, client.Decision{},
		client.CallbackAnswer{}, client.OperatorMove{}, client.RedriveRequest{}, client.Proof{}, client.Problem{},
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
