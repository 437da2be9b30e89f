package workflow_test

import (
	"fmt"
	"time"

	"github.com/wovyr/wovyr/pkg/workflow"
)

func ExampleError_Matches() {
	err := workflow.Errorf("http.503", workflow.CategoryExternal, "the shop is closed")
	for _, selector := range []string{"external", "http.503", "http", "http.5xx", "http.4xx", "timeout"} {
		fmt.Println(selector, err.Matches(selector))
	}
	// Output:
	// external true
	// http.503 true
	// http true
	// http.5xx true
	// http.4xx false
	// timeout false
}

func ExampleCron_Next() {
	cron, err := workflow.ParseCron("0 9 * * MON-FRI")
	if err != nil {
		panic(err)
	}
	friday := time.Date(2027, 1, 29, 12, 0, 0, 0, time.UTC)
	next, _ := cron.Next(friday, time.UTC)
	fmt.Println(next)
	// Output: 2027-02-01 09:00:00 +0000 UTC
}
