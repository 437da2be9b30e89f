package dsl

import (
	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// analyze completes and checks what parse read: names, dependencies, types, variables and what of each output is used.
// It reports all it finds in one pass; where a cycle leaves no order, it leaves out what depends on one.
//
// It fills Needs with what expressions imply, Picked, Last, Uses, ItemUses and InputUses.
func analyze(def *workflow.Definition, s *source, k *sink) {
	a := &analysis{def: def, source: s, sink: k, vars: map[string]*variable{}, schemas: map[string]*expr.Type{}}
	a.outline()
	a.declareVars()
	a.checkNames()
	a.collectSites()
	a.readSites()
	a.imply()
	a.checkCycles()
	a.fillPicked()
	a.fillLast()
	a.checkJoins()
	a.checkExitKinds()
	a.checkTypes()
	a.checkTriggers()
	a.touchVars()
	if !a.cyclic {
		a.checkVars()
	}
	a.fillUses()
	a.warn()
}
