package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/api"
)

// TestWhatIsTooLargeIsRefused: nothing is cut in silence.
func TestWhatIsTooLargeIsRefused(t *testing.T) {
	server := httptest.NewServer((&api.Server{Tenant: "t"}).Handler())
	defer server.Close()
	document := "dsl: wovyr/v1\nname: x\nsteps:\n  first: { value: 1 }\n" + strings.Repeat("# "+strings.Repeat("x", 250_000)+"\n", 20) + "  last: { value: 2 }\n"
	res, err := http.Post(server.URL+"/v1/workflows", "application/yaml", strings.NewReader(document))
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusRequestEntityTooLarge, res.StatusCode)
}
