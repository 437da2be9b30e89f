package secret_test

import (
	"context"
	"fmt"
	"time"

	"github.com/wovyr/wovyr/pkg/secret"
)

// fixed is a provider of secrets that are known beforehand.
type fixed map[string]string

func (f fixed) Get(_ context.Context, r secret.Ref) (string, error) { return f[r.Name], nil }

func ExampleVault() {
	vault := secret.NewVault(fixed{"pay": "sesame/42"}, time.Minute)
	value, err := vault.Secret(context.Background(), "acme", "pay")
	if err != nil {
		fmt.Println(err)
	}
	mask := vault.Mask("acme")
	fmt.Println(mask.String("refused: Bearer " + value + ", /charges?key=sesame%2F42"))
	fmt.Println(string(mask.JSON([]byte(`{"echo":"Basic YTpzZXNhbWUvNDI="}`))))
	// Output:
	// refused: Bearer [secret:pay], /charges?key=[secret:pay]
	// {"echo":"Basic YTp[secret:pay]I="}
}
