package aws

import (
	"context"
	"errors"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	smtypes "github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/wovyr/wovyr/pkg/secret"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// SecretsManager is a secret.Provider: Ref.At is a name or an ARN; without it, the prefix and the secret's name.
type SecretsManager struct {
	Client *secretsmanager.Client
	Prefix string
}

// Get implements secret.Provider.
func (m SecretsManager) Get(ctx context.Context, r secret.Ref) (string, error) {
	id := r.At
	if id == "" {
		id = m.Prefix + r.Name
	}
	out, err := m.Client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &id})
	var missing *smtypes.ResourceNotFoundException
	switch {
	case errors.As(err, &missing):
		return "", workflow.Errorf(secret.CodeMissing, workflow.CategoryInfrastructure, "Secrets Manager has no secret %q: create it, with the value of %q", id, r.Name)
	case err != nil:
		return "", unavailable("Secrets Manager", r, err)
	case out.SecretString == nil:
		return secret.Pick(r, string(out.SecretBinary))
	}
	return secret.Pick(r, *out.SecretString)
}

// ParameterStore is a secret.Provider: Ref.At is the name of a parameter; without it, the prefix (as a path) and the secret's name.
type ParameterStore struct {
	Client *ssm.Client
	Prefix string
}

// Get implements secret.Provider.
func (p ParameterStore) Get(ctx context.Context, r secret.Ref) (string, error) {
	name := r.At
	if name == "" {
		name = "/" + strings.TrimPrefix(p.Prefix, "/") + r.Name
	}
	out, err := p.Client.GetParameter(ctx, &ssm.GetParameterInput{Name: &name, WithDecryption: sdk.Bool(true)})
	var missing *ssmtypes.ParameterNotFound
	switch {
	case errors.As(err, &missing):
		return "", workflow.Errorf(secret.CodeMissing, workflow.CategoryInfrastructure, "Parameter Store has no parameter %q: create it, with the value of %q", name, r.Name)
	case err != nil:
		return "", unavailable("Parameter Store", r, err)
	}
	return secret.Pick(r, sdk.ToString(out.Parameter.Value))
}

// unavailable is a place that does not answer. The SDK's errors hold no value.
func unavailable(place string, r secret.Ref, err error) error {
	e := workflow.Errorf(secret.CodeUnavailable, workflow.CategoryInfrastructure, "%s did not give the secret %q: %v", place, r.Name, err)
	e.Retryable = true
	return e
}

// either asks Secrets Manager and, for what is not there, Parameter Store.
type either struct {
	first  SecretsManager
	second ParameterStore
}

// Get implements secret.Provider.
func (e either) Get(ctx context.Context, r secret.Ref) (string, error) {
	v, err := e.first.Get(ctx, r)
	var typed *workflow.Error
	if !errors.As(err, &typed) || typed.Code != secret.CodeMissing {
		return v, err
	}
	if v, other := e.second.Get(ctx, r); !errors.As(other, &typed) || typed.Code != secret.CodeMissing {
		return v, other
	}
	return "", err
}

// missingTime is how long it is remembered that a secret is not there: a webhook whose secret is missing would cost two calls for each request of a
// stranger.
const missingTime = 5 * time.Second

// vault keeps values for a time, as the local platform does.
func vault(sm *secretsmanager.Client, ps *ssm.Client, prefix string) *secret.Vault {
	v := secret.NewVault(either{SecretsManager{sm, prefix}, ParameterStore{ps, prefix}}, 0)
	v.RememberMissing(missingTime)
	return v
}
