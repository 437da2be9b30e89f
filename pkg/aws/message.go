package aws

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
	"github.com/wovyr/wovyr/pkg/workflow/codec"
)

// letter is a message to an execution as it stands in a queue. Its words are part of the protocol: queues outlive deployments.
type letter struct {
	ID        string `json:"id"`
	Tenant    string `json:"tenant"`
	Execution string `json:"execution"`
	Floor     uint64 `json:"floor,omitempty"`
	// Input is what codec.EncodeInput made; Large instead the reference of those bytes in the payload store. Neither: a hint.
	Input json.RawMessage `json:"input,omitempty"`
	Large string          `json:"large,omitempty"`
}

// bodies turns messages into bodies of queues and back.
type bodies struct {
	payloads eventstore.Payloads
}

// ofMessage is the body of a message. An input too large for a queue goes to the payload store first, held by the execution that it is for.
func (b bodies) ofMessage(ctx context.Context, m worker.Message) (string, error) {
	l := letter{ID: m.ID, Tenant: m.Stream.Tenant, Execution: m.Stream.ID, Floor: m.Floor}
	if m.Input != nil {
		input, err := codec.EncodeInput(m.Input)
		if err != nil {
			return "", fmt.Errorf("aws: input for %s: %w", m.Stream, err)
		}
		if l.Input = input; len(bodyText(input)) > stack.MaxMessage { // as it stands in the body, which may be longer
			ref, err := b.payloads.Put(ctx, m.Stream, bytes.NewReader(input))
			if err != nil {
				return "", fmt.Errorf("aws: large input for %s: %w", m.Stream, err)
			}
			l.Input, l.Large = nil, ref.String()
		}
	}
	text, err := encodeBody(l)
	if err != nil {
		return "", fmt.Errorf("aws: message for %s: %w", m.Stream, err)
	}
	return text, nil
}

// encodeBody makes the text of a body. Nothing is escaped for HTML, which would make a body six times as long as its content.
func encodeBody(v any) (string, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return bodyText(bytes.TrimSuffix(text.Bytes(), []byte{'\n'})), nil
}

// forbidden are the characters that stand in JSON as they are and that SQS takes in no body.
var forbidden = strings.NewReplacer("\ufffe", `\ufffe`, "\uffff", `\uffff`)

// bodyText is JSON as SQS takes it.
func bodyText(text []byte) string { return forbidden.Replace(string(text)) }

// message undoes ofMessage. A *BodyError says that the body can never be read.
func (b bodies) message(ctx context.Context, body string) (worker.Message, error) {
	var l letter
	if err := json.Unmarshal([]byte(body), &l); err != nil {
		return worker.Message{}, &BodyError{Queue: "inbox", Err: err}
	}
	m := worker.Message{ID: l.ID, Stream: eventstore.Stream{Tenant: l.Tenant, ID: l.Execution}, Floor: l.Floor}
	if err := m.Stream.Check(); err != nil {
		return m, &BodyError{Queue: "inbox", Err: err}
	}
	if l.Large != "" {
		input, err := b.large(ctx, m.Stream.Tenant, l.Large)
		if err != nil {
			return m, err
		}
		l.Input = input
	}
	if l.Input == nil {
		return m, nil
	}
	in, err := codec.DecodeInput(l.Input)
	if err != nil {
		return m, fmt.Errorf("aws: input for %s: %w", m.Stream, err) // perhaps that of a newer program: passing
	}
	m.Input = in
	return m, nil
}

// large reads what was too large for a queue.
func (b bodies) large(ctx context.Context, tenant, ref string) ([]byte, error) {
	r, err := eventstore.ParseRef(ref)
	if err != nil {
		return nil, &BodyError{Queue: "inbox", Err: err}
	}
	body, err := b.payloads.Open(ctx, tenant, r)
	if err != nil {
		return nil, fmt.Errorf("aws: large message: %w", err)
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		return nil, fmt.Errorf("aws: large message: %w", err)
	}
	return text, nil
}

// parcel is a task as it stands in a queue.
type parcel struct {
	ID        string                `json:"id"`
	Tenant    string                `json:"tenant"`
	Execution string                `json:"execution"`
	Floor     uint64                `json:"floor,omitempty"`
	Attempt   workflow.AttemptRef   `json:"attempt"`
	Class     string                `json:"class"`
	Sent      int64                 `json:"sent,omitempty"`
	Beside    int                   `json:"beside,omitempty"`
	Command   *workflow.RunActivity `json:"command,omitempty"`
	// Large is instead of Command the reference of its JSON in the payload store.
	Large string `json:"large,omitempty"`
	// Callback is where the attempt is answered, if its worker may not sign the token itself.
	Callback *callback `json:"callback,omitempty"`
}

// ofTask is the body of a task. A command that is too large is left out where the worker reads it from the history then, and goes to the payload
// store for a worker that may not.
func (b bodies) ofTask(ctx context.Context, t worker.Task, answer *callback) (string, error) {
	p := parcel{ID: t.ID, Tenant: t.Stream.Tenant, Execution: t.Stream.ID, Floor: t.Floor, Attempt: t.AttemptRef, Class: t.Class, Sent: t.Sent, Beside: t.Beside, Command: t.Command, Callback: answer}
	text, err := encodeBody(p)
	if err == nil && len(text) > stack.MaxMessage {
		if p.Command = nil; sealed(t.Class) {
			p.Large, err = b.putCommand(ctx, t)
		}
		if err == nil {
			text, err = encodeBody(p)
		}
	}
	if err != nil {
		return "", fmt.Errorf("aws: task of %s: %w", t.Stream, err)
	}
	return text, nil
}

// putCommand puts the command of a task into the payload store, held by its execution.
func (b bodies) putCommand(ctx context.Context, t worker.Task) (string, error) {
	text, err := json.Marshal(t.Command)
	if err != nil {
		return "", err
	}
	ref, err := b.payloads.Put(ctx, t.Stream, bytes.NewReader(text))
	return ref.String(), err
}

// task undoes ofTask.
func (b bodies) task(ctx context.Context, body string) (worker.Task, *callback, error) {
	var p parcel
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		return worker.Task{}, nil, &BodyError{Queue: "tasks", Err: err}
	}
	t := worker.Task{ID: p.ID, Stream: eventstore.Stream{Tenant: p.Tenant, ID: p.Execution}, Floor: p.Floor, AttemptRef: p.Attempt, Class: p.Class, Sent: p.Sent, Beside: p.Beside, Command: p.Command}
	if err := t.Stream.Check(); err != nil {
		return t, nil, &BodyError{Queue: "tasks", Err: err}
	}
	if p.Large != "" {
		text, err := b.large(ctx, t.Stream.Tenant, p.Large)
		if err != nil {
			return t, nil, err
		}
		if err := json.Unmarshal(text, &t.Command); err != nil {
			return t, nil, &BodyError{Queue: "tasks", Err: err}
		}
	}
	return t, p.Callback, nil
}

// alarm is a timer as it stands in a queue or in an entry of EventBridge Scheduler.
type alarm struct {
	Tenant    string `json:"tenant"`
	Execution string `json:"execution"`
	At        int64  `json:"at"`
}

func (a alarm) stream() eventstore.Stream {
	return eventstore.Stream{Tenant: a.Tenant, ID: a.Execution}
}

// body is the alarm as text.
func (a alarm) body() (string, error) {
	text, err := encodeBody(a)
	if err != nil {
		return "", fmt.Errorf("aws: timer of %s: %w", a.stream(), err)
	}
	return text, nil
}

func parseAlarm(body string) (alarm, error) {
	var a alarm
	err := json.Unmarshal([]byte(body), &a)
	if err == nil {
		err = a.stream().Check()
	}
	if err != nil {
		return a, &BodyError{Queue: "timers", Err: err}
	}
	return a, nil
}

// BodyError is the body of a message that this platform did not write. No retry mends it.
type BodyError struct {
	Queue string
	Err   error
}

// Error names the queue.
func (e *BodyError) Error() string {
	return fmt.Sprintf("aws: a message in the queue %s is not one of ours: %v", e.Queue, e.Err)
}

// Unwrap returns the cause.
func (e *BodyError) Unwrap() error { return e.Err }

// groupOf is the message group of an execution: messages of a group come in order, one batch at a time.
func groupOf(s eventstore.Stream) string {
	h := sha256.Sum256([]byte(s.Tenant + "\xff" + s.ID))
	return base64.RawURLEncoding.EncodeToString(h[:])
}

// fairGroup is the group of a tenant's tasks in a standard queue: SQS lets none of them keep the others waiting.
func fairGroup(tenant string) string {
	h := sha256.Sum256([]byte(tenant))
	return base64.RawURLEncoding.EncodeToString(h[:18])
}
