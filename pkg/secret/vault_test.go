package secret_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/secret"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// counting is a provider that says how often it was asked.
type counting struct {
	asked atomic.Int32
	get   func(n int32, r secret.Ref) (string, error)
}

func (c *counting) Get(_ context.Context, r secret.Ref) (string, error) {
	return c.get(c.asked.Add(1), r)
}

func TestVault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := &counting{get: func(n int32, r secret.Ref) (string, error) {
			<-time.After(time.Second) // of the bubble: the others come meanwhile
			return fmt.Sprintf("%s-%s-value-%d", r.Tenant, r.Name, n), nil
		}}
		vault := secret.NewVault(from, time.Minute)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				v, err := vault.Secret(t.Context(), "acme", "pay")
				require.NoError(t, err)
				require.Equal(t, "acme-pay-value-1", v)
			})
		}
		all.Wait()
		require.EqualValues(t, 1, from.asked.Load(), "one asks, the others wait for it")

		<-time.After(58 * time.Second)
		v, _ := vault.Secret(t.Context(), "acme", "pay")
		require.Equal(t, "acme-pay-value-1", v)
		<-time.After(2 * time.Second)
		v, _ = vault.Secret(t.Context(), "acme", "pay")
		require.Equal(t, "acme-pay-value-2", v, "its lifetime is over")

		v, _ = vault.Secret(t.Context(), "other", "pay")
		require.Equal(t, "other-pay-value-3", v, "tenants share nothing")
		text := "acme-pay-value-1 acme-pay-value-2 other-pay-value-3"
		require.Equal(t, "[secret:pay] [secret:pay] other-pay-value-3", vault.Mask("acme").String(text), "old values stay masked")
		require.Equal(t, "acme-pay-value-1 acme-pay-value-2 [secret:pay]", vault.Mask("other").String(text))
		require.Equal(t, text, vault.Mask("nobody").String(text))
	})
}

func TestVaultRefuses(t *testing.T) {
	for value, code := range map[string]string{"": secret.CodeMissing, "abc": secret.CodeTooShort} {
		_, err := secret.NewVault(fixed{"a": value}, 0).Secret(t.Context(), "acme", "a")
		var typed *workflow.Error
		require.ErrorAs(t, err, &typed)
		require.Equal(t, code, typed.Code)
	}
	down := errors.New("down")
	from := &counting{get: func(n int32, _ secret.Ref) (string, error) {
		if n == 1 {
			return "", down
		}
		return "sesame", nil
	}}
	vault := secret.NewVault(from, 0)
	_, err := vault.Secret(t.Context(), "acme", "a")
	require.ErrorIs(t, err, down)
	v, err := vault.Secret(t.Context(), "acme", "a")
	require.NoError(t, err, "a failure is not kept")
	require.Equal(t, "sesame", v)
}

// TestVaultForgets: a process that lives long and reads secrets that change keeps a bounded number of them.
// TestVaultRemembersWhatIsMissing for the time that it was told, and asks each time if it was told none.
func TestVaultRemembersWhatIsMissing(t *testing.T) {
	for _, memory := range []time.Duration{0, 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			there := false
			from := &counting{get: func(int32, secret.Ref) (string, error) {
				if there {
					return "sesame", nil
				}
				return "", workflow.Errorf(secret.CodeMissing, workflow.CategoryInfrastructure, "create it")
			}}
			vault := secret.NewVault(from, time.Minute)
			vault.RememberMissing(memory)
			ask := func() (string, error) { return vault.Secret(t.Context(), "acme", "a") }
			for range 10 {
				_, err := ask()
				var typed *workflow.Error
				require.ErrorAs(t, err, &typed)
				require.Equal(t, secret.CodeMissing, typed.Code)
			}
			require.EqualValues(t, map[bool]int{true: 1, false: 10}[memory > 0], from.asked.Load())
			there = true
			<-time.After(memory)
			for range 2 {
				v, err := ask()
				require.NoError(t, err)
				require.Equal(t, "sesame", v)
			}
			<-time.After(time.Minute)
			there = false
			_, err := ask()
			require.Error(t, err, "it was removed")
		})
	}
}

func TestVaultForgets(t *testing.T) {
	from := &counting{get: func(n int32, _ secret.Ref) (string, error) { return fmt.Sprintf("value-%06d", n), nil }}
	vault := secret.NewVault(from, -1)
	for range 300 {
		_, err := vault.Secret(t.Context(), "acme", "a")
		require.NoError(t, err)
	}
	m := vault.Mask("acme")
	require.Equal(t, "value-000001", m.String("value-000001"))
	require.Equal(t, "[secret:a]", m.String("value-000300"))
}

// TestMaskAll: the mask of a log that all tenants share hides the values of each, and new ones from when they are read.
func TestMaskAll(t *testing.T) {
	v := secret.NewVault(named{}, 0)
	require.Equal(t, "open sesame", v.MaskAll().String("open sesame"))
	for _, tenant := range []string{"a", "b"} {
		_, err := v.Secret(t.Context(), tenant, tenant+"-key")
		require.NoError(t, err)
		require.Equal(t, "is [secret:"+tenant+"-key]", v.MaskAll().String("is value of "+tenant))
	}
	require.Equal(t, "[secret:a-key], [secret:b-key]", v.MaskAll().String("value of a, value of b"))
}

// named gives each tenant a value of its own.
type named struct{}

// Get implements secret.Provider.
func (named) Get(_ context.Context, r secret.Ref) (string, error) { return "value of " + r.Tenant, nil }
