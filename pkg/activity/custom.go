package activity

import (
	"context"
	"encoding/json"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Custom makes a kind of one's own callable from workflows, as a function of its name: `function: NAME`, its input in `with`. Unlike
// a function made by Func it gets the whole Task, and its schemas are checked: Input before each attempt, Output after it.
// A kind that has a block of its own in the language is added to the Registry instead; those are Wovyr's.
func Custom(k Kind) Function {
	return Function{Name: string(k.Name), input: k.Input, output: k.Output, run: func(ctx context.Context, _ Document) (Result, error) {
		return k.Activity.Run(ctx, Info(ctx))
	}}
}

// schemas are those of the function that a target names; nil for any other target.
func (fs *Functions) schemas(target json.RawMessage) (input, output workflow.Value) {
	var name string
	if json.Unmarshal(target, &name) != nil {
		var form struct{ Name string }
		if json.Unmarshal(target, &form) != nil {
			return nil, nil
		}
		name = form.Name
	}
	f := fs.byName[name]
	return f.input, f.output
}
