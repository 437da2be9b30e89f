//go:build mutants

package worker

// Broken is the rule that is broken.
var Broken Mutant

func mutated(m Mutant) bool { return Broken == m }
