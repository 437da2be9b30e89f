package aws

import (
	"fmt"
	"strings"

	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Route gives functions to a worker class.
type Route struct {
	// Functions is a name, or a prefix that ends in *.
	Functions string
	Class     string
}

func (r Route) takes(name string) bool {
	if prefix, ok := strings.CutSuffix(r.Functions, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return r.Functions == name
}

// parseRoutes reads what the stack wrote: pattern=class, with commas between.
func parseRoutes(text string) ([]Route, error) {
	if text == "" {
		return nil, nil
	}
	var out []Route
	for part := range strings.SplitSeq(text, ",") {
		functions, class, ok := strings.Cut(part, "=")
		if !ok || functions == "" || class == "" {
			return nil, fmt.Errorf("%q is not pattern=class", part)
		}
		out = append(out, Route{functions, class})
	}
	return out, nil
}

// route implements worker.Worker.Route: the first route that takes a function has it, everything else runs in the engine's own class.
func (c Config) route(kind, name string) string {
	if kind == string(workflow.KindFunction) {
		for _, r := range c.Routes {
			if r.takes(name) {
				return r.Class
			}
		}
	}
	return worker.DefaultClass
}
