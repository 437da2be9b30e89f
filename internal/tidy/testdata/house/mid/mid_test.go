package mid_test

import (
	"testing"
	"time"

	_ "example.com/house/mid"
	_ "example.com/house/pkg/bare"
	_ "example.com/house/stray" // want arrow "mid may not import stray"
)

func TestMid(t *testing.T) {
	time.Sleep(1) // want test-sleep
	if testing.Short() {
		t.Skip("slow")
	}
	switch {
	case t.Failed():
		t.Skip() // want test-skip
	case t.Skipped():
		t.Skip("") // want test-skip
	case t.Name() == "":
		t.SkipNow() // want test-skip
	}
}
