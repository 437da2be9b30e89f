package aws

import (
	"fmt"
	"strings"
	"time"

	"github.com/wovyr/wovyr/pkg/activity/std"
	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// pairs reads what the stack wrote: name=value, with commas between.
func pairs(text string, each func(name, value string) error) error {
	if text == "" {
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		if !ok || name == "" || value == "" {
			return fmt.Errorf("%q is not two words with = between", part)
		}
		if err := each(name, value); err != nil {
			return err
		}
	}
	return nil
}

// parseRoutes reads which functions which class runs.
func parseRoutes(text string) (out []stack.Route, err error) {
	return out, pairs(text, func(functions, class string) error {
		out = append(out, stack.Route{Functions: functions, Class: class})
		return nil
	})
}

// parseSenders reads as whom classes send.
func parseSenders(text string) (map[string]string, error) {
	out := map[string]string{}
	return out, pairs(text, func(class, role string) error {
		out[role] = class
		return nil
	})
}

// parseTimeouts reads how long the functions of classes may run.
func parseTimeouts(text string) (map[string]time.Duration, error) {
	out := map[string]time.Duration{}
	return out, pairs(text, func(class, timeout string) (err error) {
		out[class], err = time.ParseDuration(timeout)
		return err
	})
}

// route implements worker.Worker.Route: the first route that takes a function has it, everything else runs in the engine's own class.
func (c Config) route(kind, name string) string {
	if kind == string(workflow.KindFunction) {
		if class := c.deployment().ClassOf(name); class != "" {
			return class
		}
	}
	return worker.DefaultClass
}

// deployment is what the stack says of what runs where.
func (c Config) deployment() stack.Deployment {
	return stack.Deployment{Routes: c.Routes, Timeouts: c.Timeouts, Invoke: c.Invoke, Functions: standard}
}

// standard are the functions of the engine's own class.
var standard = func() (names []string) {
	for _, f := range std.Functions() {
		names = append(names, f.Name)
	}
	return names
}()

// Deployment says what runs where, for checks of workflows before they run.
func (p *Platform) Deployment() stack.Deployment { return p.config.deployment() }
