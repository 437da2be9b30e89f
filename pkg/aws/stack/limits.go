package stack

import "time"

// Limits of the services, and what the stack makes of them. Queues keep messages hidden for at least as long as the function that handles
// them may run: AWS refuses less. A receive shortens that to its lease at once, and lengthens it with each heartbeat (commit protocol, point 6).
const (
	// MaxDelay is the longest delay of an SQS message. Later timers are entries of EventBridge Scheduler (commit protocol, point 11).
	MaxDelay = 15 * time.Minute
	// MaxMessage is the most bytes of a message here; the service takes 256 KiB in a batch, and larger bodies go to the payload bucket.
	MaxMessage = 200 << 10
	// MaxReceives is how often a message is received before its queue gives it to the dead letters. Put-backs count too, so it is high; a message that is
	// wrong is buried by the worker long before.
	MaxReceives = 100
	// MaxFailures is after how many receives a message becomes a dead letter with its cause, if it still fails for a reason of its own.
	MaxFailures = 50
	// MessageLife is how long queues keep messages; DeadLife how long those that nobody could handle are kept.
	MessageLife = 4 * 24 * time.Hour
	DeadLife    = 14 * 24 * time.Hour

	// Tombstones is how long a removed execution is remembered, and MinRetention the least time that an ended one is kept: both longer than any
	// queue keeps a message, so that a late one cannot bring it back or run a step again.
	Tombstones   = 15 * 24 * time.Hour
	MinRetention = 15 * 24 * time.Hour

	// StreamWindow is how long the publisher waits for more changes: an execution that moves ten times within it costs one row of the index, not ten.
	StreamWindow = 2 * time.Second

	// Timeouts of the functions.
	OrchestratorTimeout = 60 * time.Second
	ActivityTimeout     = 15 * time.Minute
	TimerTimeout        = 5 * time.Minute
	PublisherTimeout    = 60 * time.Second
	APITimeout          = 29 * time.Second

	// AnswerMargin is what an invocation leaves of its time, for the writes and answers that end it: half of it at most. No attempt may run longer than
	// its function's timeout less that.
	AnswerMargin = 5 * time.Second

	// ActivityMemory is the memory of the activity function of the engine's own class, in MiB. A step that asks for more is refused before it is
	// dispatched.
	ActivityMemory = 1024
	// EngineMemory is that of the other functions, in MiB. Processor time comes in proportion: 1,769 MiB are one processor.
	EngineMemory = 512

	// Batches: most messages that one invocation gets.
	InboxBatch = 10
	TasksBatch = 1 // of a class of the user's, whose code has the sandbox to itself
	// OwnTasksBatch is that of the engine's own class, whose activities mostly wait for somebody's answer: they do so together.
	OwnTasksBatch = 5
	TimersBatch   = 10
	EventsBatch   = 10
	StreamBatch   = 100

	// StreamRetries is how often a batch of the stream is tried, halved on each failure, before it goes to the destination of failures.
	StreamRetries = 10
	// SweepEvery is the pause between two looks for executions that should have moved.
	SweepEvery = time.Minute
	// ReplayEvery is the pause between two looks at what the publisher could not handle. The stream keeps records for a day.
	ReplayEvery = time.Hour
)

// Metrics that the functions write in embedded metric format, for alarms.
const (
	MetricsNamespace = "Wovyr"
	MetricsDimension = "Bus" // the name of the event bus: one for each stack
	MetricStuck      = "StuckExecutions"
	MetricRepaired   = "RepairedExecutions"
	MetricStarted    = "ExecutionsStarted"
	MetricCompleted  = "ExecutionsCompleted"
	MetricFailed     = "ExecutionsFailed"
	MetricDuration   = "ExecutionDuration" // milliseconds
	// MetricDeadLetters counts what the functions buried with its cause; dead letters of the queues themselves are SQS's to count.
	MetricDeadLetters = "DeadLetters"
	// MetricUnswept is how many shards a sweep had no time for. That it is written at all says that the sweep runs.
	MetricUnswept = "UnsweptShards"
)
