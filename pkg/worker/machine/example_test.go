package machine_test

import (
	"fmt"

	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/worker/machine"
)

func Example() {
	w := worker.Worker{Clock: machine.Clock{}, Entropy: machine.Entropy{}}
	one, another := w.Entropy.ID(), w.Entropy.ID()
	fmt.Println(w.Clock.Now() > 0, one != another)
	// Output: true true
}
