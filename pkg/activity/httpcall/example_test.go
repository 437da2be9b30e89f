package httpcall_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/egress"
	"github.com/wovyr/wovyr/pkg/activity/httpcall"
)

// A worker registers the kind once; what a step says under `http` is then called.
func ExampleNew() {
	pay := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		order, _ := io.ReadAll(r.Body)
		w.Header()["Date"] = nil
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"c-1","order":%s,"key":%q}`, order, r.Header.Get("Idempotency-Key"))
	}))
	defer pay.Close()
	guard, err := egress.New("127.0.0.1") // a test's own machine is not public
	if err != nil {
		panic(err)
	}
	kinds := activity.NewRegistry()
	kinds.MustAdd(httpcall.New(httpcall.Options{Guard: guard}).Kind())

	http, err := kinds.Find("http")
	if err != nil {
		panic(err)
	}
	target := fmt.Sprintf(`{"method": "POST", "url": %q, "body": {"amount":30}}`, pay.URL+"/charges")
	res, err := activity.Run(context.Background(), http.Activity, &activity.Task{
		Target: activity.NewDocument(json.RawMessage(target)), IdempotencyKey: "order-7/charge", Attempt: 1,
	})
	if err != nil {
		panic(err)
	}
	var out struct {
		Status int
		Body   json.RawMessage
	}
	if err := json.Unmarshal(res.Output, &out); err != nil {
		panic(err)
	}
	fmt.Println(out.Status, string(out.Body))
	// Output: 200 {"id":"c-1","order":{"amount":30},"key":"order-7/charge"}
}
