package meter

// Unit is what AWS bills.
type Unit string

// The units.
const (
	Write         Unit = "dynamodb-write" // 1 KB, twice in a transaction
	Read          Unit = "dynamodb-read"  // 4 KB strongly, 8 KB eventually consistent
	Queue         Unit = "sqs"            // a request, for each 64 KB
	FairQueue     Unit = "sqs-fair"       // the same, for messages with a group in a standard queue
	FIFOQueue     Unit = "sqs-fifo"
	Schedule      Unit = "scheduler" // an invocation
	Event         Unit = "event"     // on a bus, for each 64 KB
	ObjectWrite   Unit = "s3-write"  // put, copy, list, part of an upload
	ObjectRead    Unit = "s3-read"
	Invocation    Unit = "lambda-request"
	GBSecond      Unit = "lambda-gb-second" // arm64
	GBSecondX86   Unit = "lambda-gb-second-x86"
	HTTPRequest   Unit = "http-api"
	RESTRequest   Unit = "rest-api"
	SecretRequest Unit = "secret"
)

// Usage is what was used.
type Usage struct {
	// Requests counts calls by service and operation: "DynamoDB.PutItem". Those that the SDK repeats by itself count once.
	Requests map[string]int
	Units    map[Unit]float64
	// Items counts items written to DynamoDB, ItemBytes their sizes, and LargestItem is the largest of them in bytes.
	Items, ItemBytes, LargestItem int
}

// add adds another usage.
func (u *Usage) add(v Usage) {
	if u.Requests == nil {
		u.Requests = map[string]int{}
	}
	if u.Units == nil {
		u.Units = map[Unit]float64{}
	}
	for name, n := range v.Requests {
		u.Requests[name] += n
	}
	for unit, n := range v.Units {
		u.Units[unit] += n
	}
	u.Items += v.Items
	u.ItemBytes += v.ItemBytes
	u.LargestItem = max(u.LargestItem, v.LargestItem)
}

// unit returns a usage of one unit.
func unit(of Unit, n float64) Usage { return Usage{Units: map[Unit]float64{of: n}} }
