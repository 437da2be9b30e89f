package deployment

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/wovyr/wovyr/pkg/aws/stack"
)

// The figures of the latency model: everything that is assumed of AWS stands in this file. None of it was measured in an account.
//
// The medians of writes, reads, sends, deliveries and invocations are those that the project set as its model. They are of the order that AWS and
// its users publish: DynamoDB promises "single-digit milliseconds"; a send to SQS within a region takes some 10 ms; a poller of Lambda that waits
// in a long poll gets a message within tens of milliseconds; a warm invocation adds about 10. All tails are guesses on the heavy side.

// figure is how long something takes: log-normal about a median, and now and then far longer.
type figure struct {
	median time.Duration
	// ratio is the 99th percentile to the median, outliers aside.
	ratio float64
}

// One in outlierEvery calls takes outlierTimes as long as it would: a connection made anew, a partition that moves.
const (
	outlierEvery = 2000
	outlierTimes = 10
)

var (
	tableWrite    = figure{5 * time.Millisecond, 2}
	tableRead     = figure{3 * time.Millisecond, 2}
	queueSend     = figure{8 * time.Millisecond, 2.5}
	queueDelivery = figure{15 * time.Millisecond, 2.5} // from the send's end until a poller has the message
	invoke        = figure{10 * time.Millisecond, 2}   // from there, or from the gateway, until a warm handler begins
	gateway       = figure{5 * time.Millisecond, 2}    // both ways, with the check of the caller
	objectWrite   = figure{30 * time.Millisecond, 3}
	objectRead    = figure{15 * time.Millisecond, 3}
	busPut        = figure{15 * time.Millisecond, 3}
	scheduleMake  = figure{30 * time.Millisecond, 3}
	secretRead    = figure{10 * time.Millisecond, 3}
	streamDelay   = figure{200 * time.Millisecond, 3} // from a write until the stream's poller has the record; the batching window comes on top
)

// Own processor time, on a whole processor. TestProcessorTime of bench/aws measures 0.8 ms for each call of a service, with everything around it, on a
// busy machine: an upper bound. A function has a share of a processor, by its memory.
const (
	cpuInvocation = 700 * time.Microsecond // decode the event, encode the answer
	cpuCall       = 700 * time.Microsecond // decide, sign, send, read
	// wholeProcessor is the memory that comes with one processor, in MiB.
	wholeProcessor = 1769
)

// Shape of the deployment that is modelled: one without much else to do.
const (
	// pollers are the batches that Lambda takes from a queue at once, before it scales up.
	pollers = 5
	// streamShards are those of a new table's stream; each is read in parallelism lanes, by partition key.
	streamShards = 4
	parallelism  = 2
)

// share is a function's part of a processor.
func share(memory int) float64 { return min(1, float64(memory)/wholeProcessor) }

// dice draws from figures. It is safe for concurrent use.
type dice struct {
	mu  sync.Mutex
	rng *rand.Rand
}

func newDice(seed uint64) *dice { return &dice{rng: rand.New(rand.NewPCG(seed, seed))} }

// z99 is where 99 % of a normal distribution lie below.
const z99 = 2.3263

func (d *dice) draw(f figure) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	x := float64(f.median) * math.Exp(d.rng.NormFloat64()*math.Log(f.ratio)/z99)
	if d.rng.IntN(outlierEvery) == 0 {
		x *= outlierTimes
	}
	return time.Duration(x)
}

// calls are how long the calls of services take, by the SDK's types of their inputs.
var calls = map[string]figure{
	"*dynamodb.PutItem": tableWrite, "*dynamodb.UpdateItem": tableWrite, "*dynamodb.DeleteItem": tableWrite, "*dynamodb.BatchWriteItem": tableWrite,
	"*dynamodb.TransactWriteItems": {2 * tableWrite.median, tableWrite.ratio},
	"*dynamodb.GetItem":            tableRead, "*dynamodb.Query": tableRead, "*dynamodb.BatchGetItem": tableRead, "*dynamodb.Scan": tableRead,
	"*sqs.SendMessageBatch": queueSend, "*sqs.ChangeMessageVisibility": queueSend,
	"*s3.PutObject": objectWrite, "*s3.CreateMultipartUpload": objectWrite, "*s3.UploadPart": objectWrite, "*s3.CompleteMultipartUpload": objectWrite,
	"*s3.GetObject": objectRead, "*s3.HeadObject": objectRead, "*s3.DeleteObject": objectRead, "*s3.ListObjectsV2": objectRead,
	"*eventbridge.PutEvents": busPut, "*scheduler.CreateSchedule": scheduleMake, "*secretsmanager.GetSecretValue": secretRead,
}

// memories are those of the stack's functions, in MiB.
var memories = map[string]int{
	functionAPI: stack.EngineMemory, functionOrchestrator: stack.EngineMemory, functionTimer: stack.EngineMemory, functionPublisher: stack.EngineMemory,
	functionActivity: stack.ActivityMemory,
}
