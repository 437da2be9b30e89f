package estimate

import (
	"time"

	"github.com/wovyr/wovyr/pkg/aws/meter"
	"github.com/wovyr/wovyr/pkg/aws/stack"
)

// What the estimate takes for the time of functions: the means of the latency model of docs/cost.md, whose medians and tails they come from.
const (
	tableWrite   = 5.3 // milliseconds of one call
	tableRead    = 3.2
	queueSend    = 8.7
	busPut       = 16.9
	scheduleMake = 33.7
	objectWrite  = 33.7
	objectRead   = 16.9

	// cpu is the processor time of an invocation and of each call, in milliseconds of a whole processor; wholeProcessor is the memory that comes
	// with one, in MiB. AWS rounds up to milliseconds.
	cpu            = 0.7
	wholeProcessor = 1769
	rounding       = 0.5
)

// function is one of the stack's, by its memory in MiB.
type function int

const (
	engine   function = stack.EngineMemory
	activity function = stack.ActivityMemory
)

// busy is processor time of a call in a function, in milliseconds.
func (f function) busy() float64 { return cpu * wholeProcessor / float64(f) }

// gbSeconds are those of so many milliseconds.
func (f function) gbSeconds(ms float64) float64 { return ms / 1000 * float64(f) / 1024 }

// What the AWS platform does, beside what package stack says.
const (
	// crowd is how many tasks of one execution sent together answer to its inbox instead of writing their results themselves.
	crowd = 5
	// sendBatch is how many messages go out in one call.
	sendBatch = 10
	// crowdSends is how many calls an invocation needs for the results of a crowd: the first goes at once, the others together.
	crowdSends = 2
	// eventWrites and eventReads are what a published event takes, and the look for those who wait for it or are started by it.
	eventWrites, eventReads = 4, 2
	// markWrites is how many objects a payload takes: itself, and whose it is.
	markWrites = 3
	// itemBytes is what a commit takes beside its data: names of attributes, sort key, nonce and hash of the commit before. rowBytes is what its row
	// takes beside the name of the workflow, where it has one. headBytes is what each commit says anew of its writer.
	itemBytes, rowBytes, headBytes = 75, 45, 100
	// noticeWrites is what a child takes so that its parent surely hears of its end.
	noticeWrites = 2
	// stepBytes is what the document of a workflow has for each step, about; readUnit is what a strong read reads for one unit.
	stepBytes, readUnit = 330, 4096
	// hidden is how long a task runs before its message is hidden for its lease, heartbeat how often that is lengthened.
	hidden, heartbeat = time.Second, 10 * time.Second
	// window is how long the publisher gathers changes, with the stream's own delay.
	window = stack.StreamWindow + 250*time.Millisecond
	// flight, grain, slack and recheck are when the sweep looks at an execution (worker.DefaultLimits): the index has that time.
	flight, grain, slack, recheck = 90 * time.Second, 30 * time.Second, time.Minute, 6 * time.Hour
	// together is how near each other results come that the inbox merges into one commit.
	together = 50 * time.Millisecond
)

func writeUnits(bytes int) float64 { return float64(max(1, (bytes+1023)/1024)) }

// units are amounts of what AWS bills.
type units = map[meter.Unit]float64
