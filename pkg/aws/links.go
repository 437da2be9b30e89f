package aws

import (
	"context"
	"fmt"
	"sync"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// tokenKey reads the key of tokens when it is needed first: most invocations need none.
type tokenKey struct {
	client *secretsmanager.Client
	id     string

	mu     sync.Mutex
	tokens worker.Tokens
}

// get returns the tokens of this deployment.
func (k *tokenKey) get(ctx context.Context) (worker.Tokens, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.tokens.Key != nil {
		return k.tokens, nil
	}
	out, err := k.client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: sdk.String(k.id)})
	if err != nil {
		return worker.Tokens{}, passing("read the key of tokens", err)
	}
	if key := []byte(sdk.ToString(out.SecretString)); len(key) >= 32 {
		k.tokens.Key = key
		return k.tokens, nil
	}
	return worker.Tokens{}, fmt.Errorf("aws: the secret %s holds fewer than 32 characters: it cannot sign tokens", k.id)
}

// links makes the addresses of this deployment.
type links struct {
	base   string
	tokens *tokenKey
}

// CodeCallback is the code of a call that was not made, because no address could be made at which it would be answered.
const CodeCallback = "callback.unavailable"

// Callback implements worker.Links. Without its key the attempt fails for now, and is tried again.
func (l *links) Callback(ctx context.Context, s eventstore.Stream, ref workflow.AttemptRef) (url, token string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	tokens, err := l.tokens.get(ctx)
	if err == nil {
		token, err = tokens.Sign(s, ref)
	}
	if err != nil {
		return "", "", activity.Unavailable(CodeCallback, "no address of a callback can be made: %v", err)
	}
	return worker.CallbackAddress(l.base, token), token, nil
}

// Task implements worker.Links.
func (l *links) Task(s eventstore.Stream, step string) string {
	return worker.TaskAddress(l.base, s, step)
}

// callback is where an attempt is answered, and the token that proves who answers.
type callback struct {
	URL   string `json:"url"`
	Token string `json:"token"`
}

// issued is worker.Links of a function that may not sign tokens: those of its attempts came with their tasks.
type issued struct {
	base string

	mu   sync.Mutex
	came map[issue]callback
}

// issue names an attempt of an execution.
type issue struct {
	stream eventstore.Stream
	ref    workflow.AttemptRef
}

// hold keeps the callback of an attempt until the returned function is called. Nil is none.
func (i *issued) hold(s eventstore.Stream, ref workflow.AttemptRef, c *callback) (over func()) {
	if c == nil {
		return func() {}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.came[issue{s, ref}] = *c
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.came, issue{s, ref})
	}
}

// Callback implements worker.Links.
func (i *issued) Callback(_ context.Context, s eventstore.Stream, ref workflow.AttemptRef) (url, token string, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	c, came := i.came[issue{s, ref}]
	if !came {
		return "", "", activity.Unavailable(CodeCallback, "no address of a callback came with the task")
	}
	return c.URL, c.Token, nil
}

// Task implements worker.Links.
func (i *issued) Task(s eventstore.Stream, step string) string {
	return worker.TaskAddress(i.base, s, step)
}
