package graph

import "github.com/wovyr/wovyr/pkg/workflow"

// look is how a kind of step is drawn; all formats use the same shapes and colours as far as they have them.
type look struct {
	class        string // of CSS and Mermaid
	fill, border string
	outline      outline
	open, close  string // Mermaid
	dot          string // DOT attributes
}

// outline is a shape.
type outline int

const (
	rectangle     outline = iota // calls
	pill                         // waits
	trapezium                    // people
	hexagon                      // choices
	parallelogram                // data
	doubled                      // other workflows
	flag                         // events sent
	octagon                      // ends
)

var (
	lookCall   = look{"calls", "#e8f0fe", "#4f74bd", rectangle, `["`, `"]`, `shape=box style="rounded,filled"`}
	lookAI     = look{"agents", "#f3e9fd", "#8a57c2", rectangle, `("`, `")`, `shape=box style="rounded,filled"`}
	lookWait   = look{"waits", "#fff4dc", "#b98a2b", pill, `(["`, `"])`, `shape=box style="rounded,filled"`}
	lookHuman  = look{"people", "#e5f5ea", "#44905a", trapezium, `[/"`, `"\]`, `shape=note style=filled`}
	lookChild  = look{"children", "#dff3f1", "#37857f", doubled, `[["`, `"]]`, `shape=box peripheries=2 style=filled`}
	lookChoice = look{"choices", "#fdebe1", "#bf6b3f", hexagon, `{{"`, `"}}`, `shape=hexagon style=filled`}
	lookData   = look{"values", "#f0f2f4", "#7d868f", parallelogram, `[/"`, `"/]`, `shape=parallelogram style=filled`}
	lookEmit   = look{"sends", "#fce8f2", "#b25384", flag, `>"`, `"]`, `shape=cds margin="0.3,0.15" style=filled`}
	lookEnd    = look{"ends", "#fde6e6", "#bb4c4c", octagon, `[\"`, `"/]`, `shape=octagon style=filled`}
)

// looks are in a fixed order, for style sheets.
var looks = []look{lookCall, lookAI, lookWait, lookHuman, lookChild, lookChoice, lookData, lookEmit, lookEnd}

// lookOf gives the look of a kind; one that is not known, or was added by a user, looks like a call.
func lookOf(kind workflow.Kind) look {
	switch kind {
	case workflow.KindAI:
		return lookAI
	case workflow.KindTimer, workflow.KindEvent:
		return lookWait
	case workflow.KindHuman:
		return lookHuman
	case workflow.KindWorkflow:
		return lookChild
	case workflow.KindSwitch, workflow.KindMatch:
		return lookChoice
	case workflow.KindValue, workflow.KindSet:
		return lookData
	case workflow.KindEmit:
		return lookEmit
	case workflow.KindFail, workflow.KindContinueAsNew:
		return lookEnd
	}
	return lookCall
}

// subtitle is the line below a step's name: its kind and what it does.
func (n *Node) subtitle() string {
	return oneLine(string(n.Kind)) + prefixed(" ", n.Detail)
}
