package cli

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWaitForAServerThatAnswersAtOnce: one on AWS does not hold a request until an execution ends, and must not be asked without a pause.
func TestWaitForAServerThatAnswersAtOnce(t *testing.T) {
	var asked atomic.Int32
	var first, last atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := "running"
		if r.Method == http.MethodGet {
			first.CompareAndSwap(0, time.Now().UnixNano())
			last.Store(time.Now().UnixNano())
			if asked.Add(1) == 3 {
				status = `completed","outcome":"completed`
			}
		}
		_, _ = fmt.Fprintf(w, `{"execution_id":"x","workflow":"w","version":"1","status":"%s"}`, status)
	}))
	defer s.Close()
	var out, problems bytes.Buffer
	require.Equal(t, exitOK, Run(Environment{Out: &out, Err: &problems}, []string{"start", "w", "--wait", "-o", "json", "--server", s.URL}), &problems)
	require.Contains(t, out.String(), `"completed"`)
	require.EqualValues(t, 3, asked.Load())
	require.GreaterOrEqual(t, time.Duration(last.Load()-first.Load()), firstPause, "it pauses between two looks")
}
