package stack

import "strings"

// Environment variables of the functions. The stack sets all of them; the functions need nothing else to find their parts.
const (
	// Tables of the event store.
	EnvHistoryTable   = "WOVYR_TABLE_HISTORY"
	EnvCatalogueTable = "WOVYR_TABLE_CATALOGUE"
	EnvIndexTable     = "WOVYR_TABLE_INDEX"

	// Buckets: large values, and histories whose retention is over.
	EnvPayloadBucket = "WOVYR_BUCKET_PAYLOADS"
	EnvArchiveBucket = "WOVYR_BUCKET_ARCHIVE"

	// Queues, by URL. EnvTasksQueue gives the name of a worker class' own.
	EnvInboxQueue  = "WOVYR_QUEUE_INBOX"
	EnvTimersQueue = "WOVYR_QUEUE_TIMERS"
	EnvEventsQueue = "WOVYR_QUEUE_EVENTS"
	envTasksQueue  = "WOVYR_QUEUE_TASKS_"
	// EnvUnpublishedQueue is where the changes go that the publisher could not handle. Only the publisher has it.
	EnvUnpublishedQueue = "WOVYR_QUEUE_UNPUBLISHED"

	// EnvTimersQueueARN, EnvSchedulerGroup and EnvSchedulerRole are for entries of EventBridge Scheduler: whom they send to, where they stand and as
	// whom they send.
	EnvTimersQueueARN = "WOVYR_QUEUE_TIMERS_ARN"
	EnvSchedulerGroup = "WOVYR_SCHEDULER_GROUP"
	EnvSchedulerRole  = "WOVYR_SCHEDULER_ROLE"

	// EnvBus is the name of the event bus that lifecycle events and emitted events go to.
	EnvBus = "WOVYR_BUS"
	// EnvClass is the worker class of an activity function, EnvCommits whether it may write histories ("false": it answers to the inbox).
	EnvClass   = "WOVYR_CLASS"
	EnvCommits = "WOVYR_COMMITS"
	// EnvRoutes says which functions are run by which worker class: pattern=class, with commas between; a pattern may end in *.
	EnvRoutes = "WOVYR_ROUTES"
	// EnvSenders says as whom the functions of worker classes send to the inbox: class=the unique ID of a role, with commas between.
	EnvSenders = "WOVYR_CLASS_SENDERS"
	// EnvTimeouts says how long the functions of worker classes may run: class=duration, with commas between; EnvInvoke, which Lambda functions steps
	// may call: ARNs, with commas between. Both are for the check of a workflow when it is deployed.
	EnvTimeouts = "WOVYR_CLASS_TIMEOUTS"
	EnvInvoke   = "WOVYR_INVOKE"
	// EnvEgress lists, with commas, what activities may call besides public addresses: hosts, domains, networks.
	EnvEgress = "WOVYR_EGRESS_ALLOW"
	// EnvTokenKey is the ARN of the secret that signs tokens of callbacks and attempts.
	EnvTokenKey = "WOVYR_TOKEN_KEY"
	// EnvURL is where the API is reached from outside, for callbacks and tasks.
	EnvURL = "WOVYR_URL"
	// EnvTenant is the tenant of requests whose caller is of none.
	EnvTenant = "WOVYR_TENANT"
	// EnvTenantClaim names the claim of a caller's token that holds its tenant; empty: all callers are of EnvTenant.
	EnvTenantClaim = "WOVYR_TENANT_CLAIM"
	// EnvSecrets is the prefix of the names of secrets in Secrets Manager and Parameter Store that workflows may use.
	EnvSecrets = "WOVYR_SECRETS_PREFIX"
	// EnvLogLevel is debug, info, warn or error.
	EnvLogLevel = "WOVYR_LOG_LEVEL"
	// EnvApplication is the application ID that the SDK sends with each call of a function, in the user agent: CloudTrail then says which of the
	// functions called. It is a variable of the SDK's own.
	EnvApplication = "AWS_SDK_UA_APP_ID"
	// EnvRetention is how long an ended execution stays in the tables, as a duration ("720h"), before it is archived.
	EnvRetention = "WOVYR_RETENTION"
)

// EnvTasksQueue is the variable that holds the URL of the queue of a worker class: letters in upper case, and _ for all but letters and digits.
func EnvTasksQueue(class string) string {
	return envTasksQueue + strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(class))
}

// EventSource is the source of what the publisher puts on the bus.
const EventSource = "wovyr"

// SweepEvent is the value of "wovyr" in the event that starts a sweep, ReplayEvent in the one that lets the publisher look after its failures.
const (
	SweepEvent  = "sweep"
	ReplayEvent = "replay"
)

// Outputs of the stack, which `wovyr --stack NAME` reads.
const (
	OutputURL       = "WovyrUrl"
	OutputAuth      = "WovyrAuth" // iam, jwt or none
	OutputRegion    = "WovyrRegion"
	OutputBus       = "WovyrBus"
	OutputHistory   = "WovyrHistoryTable"
	OutputIndex     = "WovyrIndexTable"
	OutputCatalogue = "WovyrCatalogueTable"
	OutputPayloads  = "WovyrPayloadBucket"
	OutputEvents    = "WovyrEventsQueue"
	OutputPublisher = "WovyrPublisherFunction" // by name
)
