package flowtest_test

import (
	"fmt"
	"os"

	"github.com/wovyr/wovyr/pkg/flowtest"
)

// A workflow waits for a year, then calls an activity that fails once. The test takes no time.
func Example() {
	files := map[string]string{
		"renew.yaml": `
dsl: wovyr/v1
name: renew
steps:
  wait: { timer: { for: 365d } }
  renew: { needs: [wait], function: licence.renew, with: { id: '${ input.id }' } }
`,
		"renew.test.yaml": `
tests:
  a licence is renewed after a year, though the office is busy at first:
    input: { id: 7 }
    mocks:
      renew:
        - { attempt: 1, error: { code: office.busy, category: external, retryable: true } }
        - { output: 'renewed ${ call.with.id }' }
    expect:
      status: Completed
      path: [ wait, renew ]
      output: { renew: renewed 7 }
      steps: { renew: { attempts: 2 } }
`,
	}
	suite, found := flowtest.Load("renew.test.yaml", func(name string) ([]byte, error) { return []byte(files[name]), nil })
	if suite == nil {
		fmt.Println(found)
		return
	}
	result := suite.Run(nil)
	_ = flowtest.WriteText(os.Stdout, []*flowtest.Result{result}, true)
	fmt.Println(result.Coverage[0])
	// Output:
	// renew.test.yaml
	//   ok    a licence is renewed after a year, though the office is busy at first (2 steps, 365d1s)
	//         what happened:
	//              +0s  started with {"id":7}
	//              +0s  wait runs
	//            +365d  wait: its time has come
	//            +365d  wait completed: null
	//            +365d  renew runs
	//            +365d  renew failed: office.busy
	//            +365d  renew will be tried again
	//          +365d1s  renew runs
	//          +365d1s  renew completed: "renewed 7"
	//          +365d1s  Completed
	// 1 test passed
	// renew: 100 % of 2 steps, 100 % of 0 branches
}
