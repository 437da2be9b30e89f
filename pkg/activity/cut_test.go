package activity_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/secret"
)

// TestErrorsShowNoHalfSecret: an answer that is no JSON is shown up to a bound, and a secret at any place across it is masked as a whole.
func TestErrorsShowNoHalfSecret(t *testing.T) {
	const value = "ABCDEFGHIJABCDEFGHIJABCDEFGHIJABCDEFGHIJ"
	mask := secret.NewMask(secret.Value{Name: "pay", Text: value})
	var answer string
	var status int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(answer))
	}))
	defer server.Close()
	for before := 20; before <= 210; before += 5 {
		answer = strings.Repeat("x", before) + value
		for status = range map[int]bool{http.StatusOK: true, http.StatusBadRequest: true} {
			target, err := json.Marshal(map[string]string{"url": server.URL})
			require.NoError(t, err)
			noHalf(t, &activity.Remote{Client: server.Client()}, mask, target)
		}
	}
	for before := 35; before <= 85; before += 10 {
		for _, script := range []string{"printf '%s' \"$0\"", "printf '%s' \"$0\" >&2; exit 3"} {
			target, err := json.Marshal(map[string]any{"command": []string{"sh", "-c", script, strings.Repeat("x", before) + value}})
			require.NoError(t, err)
			noHalf(t, &activity.Command{Dir: t.TempDir()}, mask, target)
		}
	}
}

// noHalf runs an activity that must fail, and looks for four letters of the secret in its error.
func noHalf(t *testing.T, a activity.Activity, mask *secret.Mask, target []byte) {
	t.Helper()
	_, err := activity.Run(t.Context(), a, &activity.Task{Target: activity.NewDocument(target), Mask: func() *secret.Mask { return mask }})
	require.Error(t, err)
	typed, _ := activity.AsError(t.Context(), err)
	require.Contains(t, typed.Message, "xxx")
	for i := range 10 {
		require.NotContains(t, typed.Message+string(typed.Details), "ABCDEFGHIJABCDEFGHIJ"[i:i+4], "%s", target)
	}
}
