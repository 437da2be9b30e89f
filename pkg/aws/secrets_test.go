package aws

import (
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/emulator"
	"github.com/wovyr/wovyr/pkg/secret"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// TestSecretsOfTheAccount reads secrets from Secrets Manager and Parameter Store, as activities do.
func TestSecretsOfTheAccount(t *testing.T) {
	cfg := emulator.Config(t)
	sm, ps := secretsmanager.NewFromConfig(cfg), ssm.NewFromConfig(cfg)
	for name, value := range map[string]string{"wovyr/pay": "sk-live-1", "wovyr/both": "of-secrets-manager", "db": `{"user":"ann","password":"p-123456"}`} {
		_, err := sm.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: &name, SecretString: &value})
		require.NoError(t, err)
	}
	for name, value := range map[string]string{"/wovyr/mail": "mail-key-1", "/wovyr/both": "of-parameter-store"} {
		_, err := ps.PutParameter(t.Context(), &ssm.PutParameterInput{Name: &name, Value: &value, Type: types.ParameterTypeSecureString})
		require.NoError(t, err)
	}
	v := vault(sm, ps, "wovyr/")
	for name, want := range map[string]string{"pay": "sk-live-1", "mail": "mail-key-1", "both": "of-secrets-manager"} {
		got, err := v.Secret(t.Context(), "acme", name)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
	require.Equal(t, "key [secret:pay]", v.Mask("acme").String("key sk-live-1"))

	field, err := SecretsManager{sm, "wovyr/"}.Get(t.Context(), secret.Ref{Name: "db", At: "db", Field: "password"})
	require.NoError(t, err)
	require.Equal(t, "p-123456", field)

	_, err = v.Secret(t.Context(), "acme", "nothing")
	var typed *workflow.Error
	require.ErrorAs(t, err, &typed)
	require.Equal(t, secret.CodeMissing, typed.Code)
	require.Contains(t, typed.Message, "wovyr/nothing")
}

// TestSecretsOfNoService says that a place which does not answer may be asked again.
func TestSecretsOfNoService(t *testing.T) {
	cfg := emulator.Config(t)
	cfg.BaseEndpoint, cfg.RetryMaxAttempts = sdk.String("http://127.0.0.1:1"), 1
	for _, p := range []secret.Provider{SecretsManager{secretsmanager.NewFromConfig(cfg), ""}, ParameterStore{ssm.NewFromConfig(cfg), ""}} {
		_, err := p.Get(t.Context(), secret.Ref{Name: "pay"})
		var typed *workflow.Error
		require.ErrorAs(t, err, &typed)
		require.Equal(t, secret.CodeUnavailable, typed.Code)
		require.True(t, typed.Retryable)
	}
}
