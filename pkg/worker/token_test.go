package worker

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

var key = Tokens{Key: []byte("a key of at least thirty-two bytes")}

// TestTokensNameOneAttempt: what was signed is what is read, for any names.
func TestTokensNameOneAttempt(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := eventstore.Stream{Tenant: rapid.String().Draw(r, "tenant"), ID: rapid.String().Draw(r, "execution")}
		ref := workflow.AttemptRef{Step: rapid.String().Draw(r, "step"), Attempt: rapid.Int().Draw(r, "attempt"), Fence: rapid.Int().Draw(r, "fence")}
		token, err := key.Sign(s, ref)
		require.NoError(r, err)
		gotStream, gotRef, err := key.Check(token)
		require.NoError(r, err)
		require.Equal(r, s, gotStream)
		require.Equal(r, ref, gotRef)
		_, _, err = Tokens{Key: []byte("another key of thirty-two bytes..")}.Check(token)
		require.ErrorIs(r, err, ErrToken)
	})
}

// TestForgedTokens: no token but a signed one is taken, whichever character of it is changed.
func TestForgedTokens(t *testing.T) {
	token, err := key.Sign(stream("e"), workflow.AttemptRef{Step: "pay", Attempt: 1, Fence: 1})
	require.NoError(t, err)
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
	for i := range len(token) {
		for _, c := range []byte(alphabet) {
			forged := token[:i] + string(c) + token[i+1:]
			if forged == token {
				continue
			}
			s, ref, err := key.Check(forged)
			if err == nil { // base64 has bits behind its last byte that say nothing
				require.Equal(t, stream("e"), s, "%q", forged)
				require.Equal(t, workflow.AttemptRef{Step: "pay", Attempt: 1, Fence: 1}, ref)
				text, _, _ := strings.Cut(token, ".")
				require.Greater(t, i, len(text), "the body must be signed as it stands")
			}
		}
	}
	body, mac, _ := strings.Cut(token, ".")
	other := base64.RawURLEncoding.EncodeToString([]byte(`{"t":"tenant","e":"e","step":"pay","attempt":2,"fence":2}`))
	for _, forged := range []string{"", ".", body, body + ".", "." + mac, other + "." + mac, mac + "." + body, token + "A", token + ".x", " " + token} {
		_, _, err := key.Check(forged)
		require.ErrorIs(t, err, ErrToken, "%q", forged)
	}
}

// rigLinks gives tokens of the key.
type rigLinks struct{}

func (rigLinks) Callback(_ context.Context, s eventstore.Stream, ref workflow.AttemptRef) (url, token string, err error) {
	token, err = key.Sign(s, ref)
	return "https://here/callbacks", token, err
}

func (rigLinks) Task(eventstore.Stream, string) string { return "" }

// TestAnswersOfOtherAttempts: the token of an attempt that is over, or never was, changes nothing; that of the open one does, once.
func TestAnswersOfOtherAttempts(t *testing.T) {
	r := newRig(t)
	r.Links = rigLinks{}
	name := r.define(`
name: pays
steps:
  pay: { function: std.echo, callback: true, with: { token: '${ callback.token }' }, wait_timeout: 1m, retry: { attempts: 2, strategy: fixed, delay: 1s, on: [ timeout ] } }`)
	s := r.begin(name, `{}`)
	r.settle()
	answer := func(attempt, fence int, text string) {
		token, err := key.Sign(s, workflow.AttemptRef{Step: "pay", Attempt: attempt, Fence: fence})
		require.NoError(t, err)
		to, ref, err := key.Check(token)
		require.NoError(t, err)
		require.True(t, r.tell(to, workflow.ActivityResult{AttemptRef: ref, Output: workflow.Inline(workflow.Value(text))}).Done)
	}
	require.Equal(t, "Waiting", r.see(s).Status.String())
	version := r.see(s).Version
	answer(2, 2, `"not yet asked"`)
	answer(1, 7, `"of another fence"`)
	require.Equal(t, version, r.see(s).Version)

	// The first attempt is over: its token has expired with it.
	r.pass(2 * time.Minute)
	require.True(t, r.tell(s, workflow.Tick{}).Done)
	r.pass(time.Minute)
	require.True(t, r.tell(s, workflow.Tick{}).Done)
	r.settle()
	require.Equal(t, "Waiting", r.see(s).Status.String())
	version = r.see(s).Version
	answer(1, 1, `"too late"`)
	require.Equal(t, version, r.see(s).Version)

	answer(2, 2, `"paid"`)
	answer(2, 2, `"paid twice"`)
	r.settle()
	require.Equal(t, `{"pay":"paid"}`, r.ended(s, "completed").Output.JSON.String())
}
