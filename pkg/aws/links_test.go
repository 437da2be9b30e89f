package aws

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// TestNoCallWithoutAnAddress lets the key of tokens be out of reach when a call is made that is answered by a callback: it is not made, for nobody could
// answer it, and made when the key can be read again.
func TestNoCallWithoutAnAddress(t *testing.T) {
	const id = "wovyr/tokens"
	r := newRig(t, func(c *Config) { c.TokenKey, c.URL = id, "https://api.example" })
	_, err := secretsmanager.NewFromConfig(r.cfg).CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: sdk.String(id), SecretString: sdk.String(strings.Repeat("k", 64))})
	require.NoError(t, err)
	refusals := 1
	r.wire.set(func(in any) (any, error) {
		if _, reads := in.(*secretsmanager.GetSecretValueInput); reads && refusals > 0 {
			refusals--
			return nil, errors.New("throttled")
		}
		return nil, nil
	})
	var addresses []string
	r.function("call", func(_ context.Context, in map[string]any) (any, error) {
		addresses = append(addresses, in["url"].(string))
		return nil, nil
	})
	r.deploy("dsl: wovyr/v1\nname: called\noutput: '${ steps.a.output }'\nsteps:\n  a: { function: call, callback: true, with: { url: '${ callback.url }' }, retry: { attempts: 2, strategy: fixed, delay: 1ms } }\n")
	s := eventstore.Stream{Tenant: testTenant, ID: r.start("called", "{}")}
	require.Eventually(t, func() bool { r.work(); return len(addresses) > 0 }, time.Minute, 50*time.Millisecond)
	require.Zero(t, refusals)
	history, err := r.Worker.History(t.Context(), s, 0, eventstore.MaxPage)
	require.NoError(t, err)
	var failed []string
	for _, e := range history {
		if f, ok := e.Event.(workflow.ActivityFailed); ok {
			failed = append(failed, f.Error.Code)
		}
	}
	require.Equal(t, []string{CodeCallback}, failed)
	require.Len(t, addresses, 1)
	token, ours := strings.CutPrefix(addresses[0], worker.CallbackAddress("https://api.example", ""))
	require.True(t, ours, addresses[0])
	at, ref, err := worker.Tokens{Key: []byte(strings.Repeat("k", 64))}.Check(token)
	require.NoError(t, err)
	require.Equal(t, s, at)
	require.NoError(t, r.Ask(t.Context(), at, workflow.ActivityResult{AttemptRef: ref, Output: workflow.Inline(workflow.Value("7"))}))
	r.work()
	require.Equal(t, "Completed", r.status(s.ID))
}
