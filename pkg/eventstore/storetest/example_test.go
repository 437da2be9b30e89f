package storetest_test

import (
	"testing"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/storetest"
)

// openMine stands for the constructor of a new kind of store.
func openMine(*testing.T) eventstore.Store { panic("not this one") }

// The whole test of a new kind of store. It is the body of its TestStore.
func ExampleRun() {
	test := func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) storetest.Subject {
			return storetest.Subject{Store: openMine(t)}
		})
	}
	_ = test
}
