package aws

import (
	"fmt"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// senderError says that a worker class sent what only the engine may send.
type senderError struct{ Class, Input string }

// Error says what it may send.
func (e *senderError) Error() string {
	return fmt.Sprintf("worker class %q sent an input of type %s: it holds code of its user, and may only answer for attempts", e.Class, e.Input)
}

// maySend checks an input of the inbox against who sent it (commit protocol, point 15). SQS itself says who that was: a class that runs a user's own
// code may send, for it has to answer, and what else it puts there is a *BodyError.
func (c Config) maySend(record events.SQSMessage, in workflow.Input) error {
	role, _, _ := strings.Cut(record.Attributes["SenderId"], ":") // role:session
	class, ok := c.Senders[role]
	if !ok {
		return nil
	}
	kind := "none"
	switch in := in.(type) {
	case workflow.ActivityResult, workflow.LeaseExpiry, workflow.RevokedFound:
		return nil
	case nil:
	default:
		kind = in.InputType()
	}
	return &BodyError{Queue: "inbox", Err: &senderError{class, kind}}
}
