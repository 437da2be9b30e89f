package httpcall_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/activitytest"
	"github.com/wovyr/wovyr/pkg/activity/egress"
	"github.com/wovyr/wovyr/pkg/activity/httpcall"
)

func TestContract(t *testing.T) {
	activitytest.Run(t, func(t *testing.T) activitytest.Subject {
		var key atomic.Value
		started := make(chan struct{})
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			echo := string(body) + " " + r.Header.Get("X-Key") + " " + base64.StdEncoding.EncodeToString(body)
			w.Header()["Date"] = nil
			switch r.URL.Path {
			case "/charge":
				key.Store(r.Header.Get("Idempotency-Key"))
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, `{"id":"c-1"}`)
			case "/hang":
				started <- struct{}{}
				<-r.Context().Done()
			case "/hang-in-the-body":
				w.Header().Set("Content-Length", "100")
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			case "/busy":
				w.WriteHeader(http.StatusServiceUnavailable)
			case "/cut":
				w.Header().Set("Content-Length", "100")
				fmt.Fprint(w, "only this")
			case "/prose":
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, "hello")
			case "/flood":
				w.Header().Set("Content-Type", r.URL.Query().Get("type"))
				blank := bytes.Repeat([]byte(" "), 1<<10)
				for {
					if _, err := w.Write(blank); err != nil {
						return
					}
				}
			case "/leak":
				w.Header().Set("X-Echo", url.QueryEscape(string(body)))
				_ = json.NewEncoder(w).Encode(echo)
			case "/leak-large":
				_ = json.NewEncoder(w).Encode([]string{strings.Repeat("x", 2<<20), echo})
			case "/leak-and-fail":
				w.WriteHeader(http.StatusForbidden)
				fmt.Fprint(w, "not with "+echo+" or "+r.URL.RawQuery+" or "+r.Header.Get("Authorization"))
			default:
				w.WriteHeader(http.StatusNotFound)
			}
		}))
		guard, err := egress.New("127.0.0.1")
		require.NoError(t, err)
		c := httpcall.New(httpcall.Options{Guard: guard})
		at := func(path string, more ...m) any {
			target := m{"url": server.URL + path, "method": "POST"}
			for _, words := range more {
				for word, value := range words { // order-free: words are distinct
					target[word] = value
				}
			}
			return target
		}
		query := m{"key": activitytest.Secret}
		return activitytest.Subject{
			Kind:     c.Kind(),
			Succeeds: activitytest.Call{Target: at("/charge", m{"body": m{"amount": 30}}), Output: `{"status":200,"headers":{"content-type":"application/json","content-length":"12"},"body":{"id":"c-1"}}`},
			Hangs:    activitytest.Call{Target: at("/hang"), Started: started},
			Fails: []activitytest.Call{
				{Name: "busy", Target: at("/busy"), Code: "http.503", Retryable: true},
				{Name: "not there", Target: at("/nowhere"), Code: "http.404"},
				{Name: "cut off", Target: at("/cut"), Code: httpcall.CodeRead, Retryable: true},
				{Name: "no JSON", Target: at("/prose"), Code: activity.CodeOutput},
				{Name: "nobody there", Target: m{"url": "http://127.0.0.1:1/"}, Code: httpcall.CodeConnect, Retryable: true},
				{Name: "forbidden", Target: m{"url": "http://10.0.0.1/"}, Code: egress.CodeForbidden},
				{Name: "no method", Target: at("/charge", m{"method": "BREW"}), Code: activity.CodeInput},
			},
			Floods: activitytest.Call{Target: at("/flood?type=text/plain")},
			Leaks: []activitytest.Call{
				{Name: "answers", Target: at("/leak", m{"body": activitytest.Secret})},
				{Name: "streams", Target: at("/leak-large", m{"body": m{"key": activitytest.Secret}})},
				{Name: "fails", Target: at("/leak-and-fail", m{"body": activitytest.Secret, "query": query})},
				{Name: "basic", Target: at("/leak-and-fail", m{"auth": m{"basic": m{"user": "shop", "password": activitytest.Secret}}})},
				{Name: "stands in an address that nobody answers at", Target: m{"url": "http://127.0.0.1:1/" + url.PathEscape(activitytest.Secret), "query": query}},
				{Name: "is base64 that is none", Target: at("/leak", m{"multipart": m{activitytest.Secret: m{"bytes": "!"}}})},
			},
			Key:   func() string { return key.Load().(string) },
			Close: func() { c.CloseIdleConnections(); server.Close() },
		}
	})
}
