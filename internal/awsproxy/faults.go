package awsproxy

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Fault is what happens to one request between a function and AWS, and to the function with it.
type Fault string

// The faults. Those that SQS alone knows are of sends.
const (
	// Throttled: the service refuses, in its own words. Nothing is carried out.
	Throttled Fault = "throttled"
	// Failed: the service says that it failed, and has not carried it out; FailedAfter: and has.
	Failed      Fault = "failed"
	FailedAfter Fault = "failed after"
	// Unsent: the connection is cut before the request arrives; Lost: after it was carried out; Cut: in the middle of the answer.
	Unsent Fault = "unsent"
	Lost   Fault = "lost"
	Cut    Fault = "cut"
	// Slow: the answer comes after some time; Stuck: never, until the caller gives up or the connection is cut.
	Slow  Fault = "slow"
	Stuck Fault = "stuck"
	// Partial: of a batch, some entries are carried out and the others refused.
	Partial Fault = "partial"
	// Twice: a message is there twice, in a FIFO queue under two deduplication IDs.
	Twice Fault = "twice"
	// Late: a message of a standard queue arrives seconds later, behind others that were sent after it.
	Late Fault = "late"
	// Killed: the process of the function that called is killed, before the call is carried out or after.
	Killed Fault = "killed"
)

// AllFaults are all of them.
var AllFaults = []Fault{Throttled, Failed, FailedAfter, Unsent, Lost, Cut, Slow, Stuck, Partial, Twice, Late, Killed}

// Faults decides which requests suffer what. Only requests of functions do: those without an application ID pass.
type Faults struct {
	// Rate is the share of requests that suffer, from 0 to 1.
	Rate float64
	// Kinds are the faults that there are; AllFaults if nil.
	Kinds []Fault
	// Outages is the share of requests with which an outage of their service begins: all its requests fail for up to Longest.
	Outages float64
	// Longest bounds how long a request is held and how long an outage lasts; two seconds if zero.
	Longest time.Duration
	// Spare leaves out what must not suffer; nil: nothing.
	Spare func(Call) bool

	mu     sync.Mutex
	dice   *rand.Rand
	down   map[string]time.Time
	counts map[Fault]int
}

// Seed makes the decisions those of a seed, and forgets what was counted. The requests of functions that run beside each other come in another order
// each time, so a seed leads to the same mixture and not to the same run.
func (f *Faults) Seed(seed uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dice, f.down, f.counts = rand.New(rand.NewPCG(seed, 1)), map[string]time.Time{}, map[Fault]int{}
}

// Counts returns how often what happened.
func (f *Faults) Counts() map[Fault]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.counts)
}

// missed takes back what could not be done.
func (f *Faults) missed(k Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts[k]--
}

// verdict is what one request suffers; an empty fault: nothing.
type verdict struct {
	fault Fault
	// hold is how long it is held.
	hold time.Duration
	dice *rand.Rand
}

// of decides on a request.
func (f *Faults) of(c Call) verdict {
	if f == nil || c.Function == "" || f.Spare != nil && f.Spare(c) {
		return verdict{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dice == nil {
		f.dice, f.down, f.counts = rand.New(rand.NewPCG(1, 1)), map[string]time.Time{}, map[Fault]int{}
	}
	longest := cmp.Or(f.Longest, 2*time.Second)
	v := verdict{hold: time.Duration(f.dice.Int64N(int64(longest)) + 1), dice: rand.New(rand.NewPCG(f.dice.Uint64(), f.dice.Uint64()))}
	now := time.Now()
	if f.dice.Float64() < f.Outages {
		f.down[c.Service] = now.Add(v.hold)
	}
	switch {
	case now.Before(f.down[c.Service]):
		v.fault = []Fault{Throttled, Failed, Unsent}[f.dice.IntN(3)]
	case f.dice.Float64() < f.Rate:
		general, own := kindsOf(c, f.Kinds)
		if len(own) > 0 && (len(general) == 0 || f.dice.IntN(2) == 0) { // few calls are sends or batches
			general = own
		}
		if len(general) > 0 {
			v.fault = general[f.dice.IntN(len(general))]
		}
	}
	if v.fault != "" {
		f.counts[v.fault]++
	}
	return v
}

// kindsOf are the faults that a call can suffer: those of all calls, and those of its own operation.
func kindsOf(c Call, kinds []Fault) (general, own []Fault) {
	if kinds == nil {
		kinds = AllFaults
	}
	for _, k := range kinds {
		switch k {
		case Partial:
			if slices.Contains([]string{"SendMessageBatch", "PutEvents", "BatchGetItem", "BatchWriteItem"}, c.Operation) {
				own = append(own, k)
			}
		case Twice, Late:
			if c.Service == "sqs" && (c.Operation == "SendMessage" || c.Operation == "SendMessageBatch") {
				own = append(own, k)
			}
		default:
			general = append(general, k)
		}
	}
	return general, own
}
