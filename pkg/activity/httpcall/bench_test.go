package httpcall_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/httpcall"
)

// BenchmarkCall compares a post of a small JSON by the kind with the same by net/http alone.
func BenchmarkCall(b *testing.B) {
	p := newPeer(b, fine)
	b.Run("bare", func(b *testing.B) {
		client := &http.Client{Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		for b.Loop() {
			res, err := client.Post(p.URL, "application/json", bytes.NewReader([]byte(`{"amount":30}`)))
			require.NoError(b, err)
			_, err = io.ReadAll(res.Body)
			require.NoError(b, err)
			require.NoError(b, res.Body.Close())
		}
	})
	b.Run("kind", func(b *testing.B) {
		c := caller(b, httpcall.Options{})
		k := task(b, m{"url": p.URL, "method": "POST", "body": m{"amount": 30}})
		for b.Loop() {
			_, err := activity.Run(b.Context(), c, k)
			require.NoError(b, err)
		}
	})
}
