package fit_test

import (
	"fmt"

	"github.com/wovyr/wovyr/pkg/aws/fit"
	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/dsl"
)

func ExampleCheck() {
	def, _ := dsl.Compile("report.yaml", []byte(`dsl: wovyr/v1
name: report
steps:
  render: { http: { url: "https://reports.example/render" }, timeout: 1h }
`))
	for _, d := range fit.Check(stack.Deployment{Unknown: true}, "report.yaml", def) {
		fmt.Println(d)
	}
	// Output:
	// report.yaml:4:3: error: step render may take 1h, and no function on AWS runs longer than 14m55s [aws/timeout]
}
