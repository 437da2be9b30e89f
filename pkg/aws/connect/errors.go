package connect

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrNoRegion says that nothing names the region of a stack.
	ErrNoRegion = errors.New("no region of AWS is set: set AWS_REGION, or give the profile one (`aws configure`)")
	// ErrNoToken says that an API that takes tokens was given none.
	ErrNoToken = errors.New("the API takes tokens of its issuer (JWT): put one into the variable WOVYR_TOKEN")
)

// CredentialsError says that there are no credentials of AWS, or none that are good any more.
type CredentialsError struct{ Err error }

// Error says how to get some.
func (e *CredentialsError) Error() string {
	text := "no credentials of AWS that are good: sign in (`aws sso login`, `aws configure`), name a profile (AWS_PROFILE), or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
	if e.Err == nil {
		return text
	}
	return fmt.Sprintf("%s (%v)", text, e.Err)
}

// Unwrap returns what was wrong.
func (e *CredentialsError) Unwrap() error { return e.Err }

// DeniedError says that the caller lacks a right.
type DeniedError struct {
	Action, Resource string
	Said             string // what AWS says, perhaps with who the caller is
}

// Error names the right.
func (e *DeniedError) Error() string {
	text := fmt.Sprintf("you lack the right %s on %s", e.Action, e.Resource)
	if e.Said == "" {
		return text
	}
	return text + ": " + e.Said
}

// UnknownStackError says that no stack of Wovyr has a name.
type UnknownStackError struct {
	Name, Region string
	// Other says that there is a stack of this name, which is not Wovyr's.
	Other bool
	// Known are the stacks of Wovyr there; Hidden says that the caller may not list them.
	Known  []string
	Hidden bool
}

// Error names those that there are.
func (e *UnknownStackError) Error() string {
	text := fmt.Sprintf("there is no stack %s in %s", e.Name, e.Region)
	if e.Other {
		text = fmt.Sprintf("stack %s in %s is not Wovyr's: it has none of its outputs", e.Name, e.Region)
	}
	switch {
	case e.Hidden:
		return text + " (and you may not list others: cloudformation:DescribeStacks)"
	case len(e.Known) == 0:
		return text + ", and none of Wovyr's at all: is this the right region and account (AWS_REGION, AWS_PROFILE)?"
	}
	return text + ". Stacks of Wovyr there: " + strings.Join(e.Known, ", ")
}

// NotReadyError says that a stack has no API yet, or none any more.
type NotReadyError struct{ Name, Status, Reason string }

// Error says in which state the stack is.
func (e *NotReadyError) Error() string {
	text := fmt.Sprintf("stack %s has no API: it is in the state %s", e.Name, e.Status)
	if e.Reason == "" {
		return text
	}
	return text + " (" + e.Reason + ")"
}
