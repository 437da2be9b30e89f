package porttest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/wovyr/wovyr/pkg/worker/porttest"
)

// openMine stands for the constructor of a new platform: its queues call the functions of c.
func openMine(c porttest.Consumer) (p porttest.Platform, stop func()) { panic("not this one") }

// The whole test of a new platform that lives in one process, in virtual time. It is the body of its TestPorts.
func ExampleRun() {
	test := func(t *testing.T) {
		traits := porttest.Traits{Virtual: true, Exact: true, Late: time.Second, Patience: time.Hour, Receives: 50, Classes: []string{"default"}}
		porttest.Run(t, traits, func(t *testing.T, c porttest.Consumer, test func(*testing.T, porttest.Platform)) {
			synctest.Test(t, func(t *testing.T) {
				p, stop := openMine(c)
				defer stop()
				test(t, p)
			})
		})
	}
	_ = test
}
