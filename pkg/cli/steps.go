package cli

import "github.com/wovyr/wovyr/pkg/workflow"

// countSteps counts the steps of a body and of all bodies inside it.
func countSteps(b workflow.Body) int {
	n := len(b.Steps)
	for _, s := range b.Steps {
		switch {
		case s.Foreach != nil:
			n += countSteps(s.Foreach.Body)
		case s.Loop != nil:
			n += countSteps(s.Loop.Body)
		case s.Group != nil:
			n += countSteps(s.Group.Body)
		case s.Race != nil:
			for _, branch := range s.Race.Branches {
				n += countSteps(branch.Body)
			}
		}
	}
	return n
}
