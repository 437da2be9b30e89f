package cli

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTokenGoesToTheServerThatWasNamed looks at what a server sees.
func TestTokenGoesToTheServerThatWasNamed(t *testing.T) {
	var seen string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header.Get("Authorization")
		_, _ = w.Write([]byte(`{"items":[]}`))
	}))
	defer s.Close()
	t.Setenv("WOVYR_TOKEN", "t-123456")
	c, err := (&remote{server: s.URL}).client(t.Context())
	require.NoError(t, err)
	_, err = c.List(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, "Bearer t-123456", seen)
}
