package dynamodb_test

import (
	"flag"
	"os"
	"testing"
)

// fewChecks is how many random checks a property gets on an emulator, which takes a millisecond for each request. Whoever says how many
// (-rapid.checks=100, as make aws-store does) gets that.
const fewChecks = "4"

func TestMain(m *testing.M) {
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "rapid.checks" })
	if !asked {
		if err := flag.Set("rapid.checks", fewChecks); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
