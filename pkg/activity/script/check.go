package script

import (
	"context"
	"encoding/json"
	"time"

	"github.com/wovyr/wovyr/pkg/activity"
)

// maxCheck is how long a script may take to be compiled for a check.
const maxCheck = 10 * time.Second

// check compiles a script and runs nothing of it. The error is an *activity.Error, script.syntax, where the script is none, or its module
// is missing; any other error says that it could not be told.
func (s *scripts) check(ctx context.Context, target json.RawMessage) error {
	form, err := readForm(target)
	if err != nil {
		return err
	}
	box, err := s.sandbox()
	if err != nil {
		return err
	}
	if form.WASM != "" {
		_, err := s.modules.find(box, form.WASM)
		return err
	}
	e, err := s.engine()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, maxCheck)
	defer cancel()
	return e.check(ctx, box, form.JS)
}

// check compiles a script as the body of a function that returns before it.
func (e *engine) check(ctx context.Context, s *sandbox, script string) error {
	run, c, leave, err := s.enter(ctx, &activity.Task{})
	if err != nil {
		return err
	}
	defer leave()
	status, text, err := e.call(run, s, c, checkHead, script, []byte("null"))
	if err != nil || status != statusSyntax {
		return err // what else goes wrong is for the run to say
	}
	return c.refused(status, text, script)
}
