package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// interruptible returns a context that ends with the first Ctrl-C, says what happens then, and lets the second one end the process at once: what was
// decided is stored, so that costs nothing but the work of steps that run.
func interruptible(ctx context.Context, says io.Writer, grace time.Duration) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	over := context.AfterFunc(ctx, func() {
		fmt.Fprintf(says, "Ending: steps that run have up to %v to end; Ctrl-C again ends now, and they run again later.\n", grace)
		stop() // the next one does what it does to any process
	})
	return ctx, func() {
		over()
		stop()
	}
}
