package porttest

import (
	"context"
	"testing"
	"time"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
)

// Platform is the ports of one platform, at work, and how time passes there.
type Platform struct {
	Inbox   worker.Inbox
	Tasks   worker.Tasks
	Timers  worker.Timers
	Clock   worker.Clock
	Entropy worker.Entropy

	// Pass returns after a time. It is called by tests and by consumers at work; meanwhile everybody else goes on.
	Pass func(d time.Duration)
	// Go calls f beside its caller and returns at once.
	Go func(f func())
}

// Consumer is what a platform hands things to, where it would have a worker otherwise. It never fails on purpose but by its answers.
type Consumer struct {
	// Inbox stands for worker.Worker.HandleInbox.
	Inbox func(ctx context.Context, s eventstore.Stream, messages []worker.Message) []worker.Answer
	// Task stands for worker.Worker.HandleTask of a worker of a class.
	Task func(ctx context.Context, class string, d worker.Delivery) worker.Answer
	// BuryMessage and BuryTask stand for the functions of worker.Worker with these names.
	BuryMessage func(ctx context.Context, m worker.Message, cause error) error
	BuryTask    func(ctx context.Context, t worker.Task, cause error) error
}

// Traits are what kinds of platforms differ in.
type Traits struct {
	// Virtual says that time costs nothing, so that tests let hours pass.
	Virtual bool
	// Exact says that nothing comes twice that was answered in time. A queue that promises less in general may be exact where it is tested.
	Exact bool
	// Grain is how exact times of queues are: nothing that was put back is seen again earlier than asked by more than it. Timers are never
	// early at all.
	Grain time.Duration
	// Late is how late a delivery is at most when there is nothing else to do; 0: nothing is said of that, as in real time.
	Late time.Duration
	// Patience is how long the suite waits for what must come before it says that it was lost.
	Patience time.Duration
	// Visibility is how long something stays hidden that was handed out and not answered; 0: as long as its consumer lives, which then is in
	// the process of the queue.
	Visibility time.Duration
	// MaxHidden is the longest that something can be put back for: what is to rest longer comes back earlier. 0: any time.
	MaxHidden time.Duration
	// Receives is how often something is handed out that its consumer fails on before it is buried.
	Receives int
	// CountsAll says that every receive counts for that, and not only those that failed for a reason of what was handed out.
	CountsAll bool
	// Horizon is how far ahead timers are armed; what is later is found by the platform's sweep, from the rows of the index. 0: any time.
	Horizon time.Duration
	// Classes are the worker classes that tasks can be sent to; at least one.
	Classes []string
}

// Open makes a fresh platform that hands things to c, runs a test on it, and stops it. The test may run in a bubble of package synctest, or as a
// routine of a simulation; it ends as tests end, by returning or by t.FailNow.
type Open func(t *testing.T, c Consumer, test func(t *testing.T, p Platform))

// Run tests all ports of a platform.
func Run(t *testing.T, traits Traits, open Open) {
	RunInbox(t, traits, open)
	RunTasks(t, traits, open)
	RunTimers(t, traits, open)
	RunClock(t, traits, open)
	RunEntropy(t, traits, open)
}

// runner runs tests by name.
func runner(t *testing.T, traits Traits, open Open) func(name string, test func(d *desk)) {
	return func(name string, test func(d *desk)) {
		t.Run(name, func(t *testing.T) {
			d := newDesk(traits)
			open(t, d.consumer(), func(t *testing.T, p Platform) {
				d.t, d.Platform = t, p
				test(d)
				d.verify()
			})
		})
	}
}
