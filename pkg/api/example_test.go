package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/wovyr/wovyr/pkg/api"
	"github.com/wovyr/wovyr/pkg/local"
)

// The API of a platform, as a handler for any HTTP server.
func ExampleServer() {
	data, err := os.MkdirTemp("", "api")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(data)
	p, err := local.Open(data, local.Options{})
	if err != nil {
		panic(err)
	}
	defer p.Store.Close()
	s := &api.Server{Worker: p.Worker, Ask: p.Ask, Watch: p.Watch, Tenant: "local"}

	answer := httptest.NewRecorder()
	s.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/v1/executions", nil))
	fmt.Println(answer.Code, answer.Body)
	// Output: 200 {"items":[]}
}
