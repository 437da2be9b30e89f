package activitytest

import (
	"github.com/wovyr/wovyr/pkg/activity"
)

// Secret is the value that stands in the calls of Subject.Leaks. It looks different in every encoding.
const Secret = `k3y/+"<&>é ?%\line=Z`

// FloodLimit is the most bytes of an output while Subject.Floods runs.
const FloodLimit = 256 << 10

// Names of situations, for Subject.Without.
const (
	Hanging  = "hangs"
	Flooding = "floods"
	Leaking  = "leaks"
	Keyed    = "key"
)

// Subject is one kind under test, with a peer that is really called.
type Subject struct {
	// Kind is what is registered.
	Kind activity.Kind
	// Succeeds is answered with its Output, each time that it is called.
	Succeeds Call
	// Hangs does not end by itself. Started of it is set where the peer can tell that it has the call.
	Hangs Call
	// Fails end in the error that each says. At least one.
	Fails []Call
	// Floods has an answer that is much longer than FloodLimit, or never ends.
	Floods Call
	// Leaks have Secret in their target or input, and a peer that writes it wherever it can: into an error, an answer, a log, an
	// encoding of these. At least one of them fails.
	Leaks []Call
	// Key is the idempotency key that the peer saw last.
	Key func() string
	// Without says why a situation cannot be: its name, and the reason.
	Without map[string]string
	// Close ends the peer, and connections that the kind keeps open. May be nil.
	Close func()
}

// Call is what a step says.
type Call struct {
	// Name tells calls of one list apart.
	Name string
	// Target and With become JSON: the kind's own block and the step's `with`, expressions filled in.
	Target, With any
	// Output is the JSON text that must come back, for Succeeds.
	Output string
	// Code and Retryable are those of the error that must come back, for Fails.
	Code      string
	Retryable bool
	// Started gives a value once the peer has the call, for Hangs.
	Started <-chan struct{}
}
