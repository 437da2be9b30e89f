package egress_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/wovyr/wovyr/pkg/activity/egress"
	"github.com/wovyr/wovyr/pkg/workflow"
)

func ExampleGuard() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	defer server.Close()

	var strict *egress.Guard // the public internet only
	_, err := (&http.Client{Transport: strict.Transport()}).Get(server.URL)
	var typed *workflow.Error
	fmt.Println(errors.As(err, &typed), typed.Code)

	mine, err := egress.New("127.0.0.1", "10.0.0.0/8", "*.corp.example")
	if err != nil {
		panic(err)
	}
	res, err := (&http.Client{Transport: mine.Transport()}).Get(server.URL)
	if err != nil {
		panic(err)
	}
	defer res.Body.Close()
	fmt.Println(res.Status)
	// Output:
	// true egress.forbidden
	// 200 OK
}
