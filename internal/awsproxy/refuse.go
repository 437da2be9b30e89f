package awsproxy

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
)

// refusal is an error as a service writes it.
type refusal struct {
	status int
	code   string
}

// throttling is how each service says that there were too many calls, failing how it says that it failed.
var (
	throttling = map[string][]refusal{
		"dynamodb": {{400, "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"}, {400, "com.amazonaws.dynamodb.v20120810#RequestLimitExceeded"},
			{400, "com.amazon.coral.availability#ThrottlingException"}},
		"sqs":            {{400, "com.amazonaws.sqs#RequestThrottled"}, {400, "com.amazonaws.sqs#KmsThrottled"}},
		"events":         {{400, "com.amazonaws.events#ThrottlingException"}},
		"scheduler":      {{429, "ThrottlingException"}},
		"lambda":         {{429, "TooManyRequestsException"}},
		"secretsmanager": {{400, "com.amazonaws.secretsmanager#ThrottlingException"}},
		"ssm":            {{400, "com.amazonaws.ssm#ThrottlingException"}},
		"s3":             {{503, "SlowDown"}},
	}
	failing = map[string][]refusal{
		"dynamodb":       {{500, "com.amazonaws.dynamodb.v20120810#InternalServerError"}, {503, "com.amazonaws.dynamodb.v20120810#ServiceUnavailable"}},
		"sqs":            {{500, "com.amazonaws.sqs#InternalFailure"}, {503, "com.amazonaws.sqs#ServiceUnavailable"}},
		"events":         {{500, "com.amazonaws.events#InternalException"}},
		"scheduler":      {{500, "InternalServerException"}},
		"lambda":         {{500, "ServiceException"}},
		"secretsmanager": {{500, "com.amazonaws.secretsmanager#InternalServiceError"}},
		"ssm":            {{500, "com.amazonaws.ssm#InternalServerError"}},
		"s3":             {{500, "InternalError"}, {503, "ServiceUnavailable"}},
	}
)

// refuse is the answer of a service that refuses a call for a reason of the table.
func refuse(c Call, reasons map[string][]refusal, dice *rand.Rand) answer {
	list := reasons[c.Service]
	if len(list) == 0 {
		list = []refusal{{http.StatusServiceUnavailable, "ServiceUnavailable"}}
	}
	r := list[dice.IntN(len(list))]
	header := http.Header{"X-Amzn-Requestid": {"fault"}}
	if c.Service == "s3" {
		header.Set("Content-Type", "application/xml")
		return answer{status: r.status, header: header, body: fmt.Appendf(nil, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>A fault of the test.</Message></Error>`, r.code)}
	}
	header.Set("Content-Type", "application/x-amz-json-1.0")
	header.Set("X-Amzn-Errortype", r.code)
	if _, short, ok := strings.Cut(r.code, "#"); ok && c.Service == "sqs" {
		if short == "KmsThrottled" { // its name in the older protocol, which the SDK goes by
			short = "KMS.ThrottlingException"
		}
		header.Set("X-Amzn-Query-Error", short+";"+map[bool]string{true: "Sender", false: "Receiver"}[r.status < 500])
	}
	return answer{status: r.status, header: header, body: fmt.Appendf(nil, `{"__type":%q,"message":"a fault of the test"}`, r.code)}
}

// object is a JSON object, whose parts the proxy leaves as they are.
type object map[string]json.RawMessage

func (o object) bytes() []byte {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // it was read from JSON
	}
	return text
}

func parse(text []byte) object {
	o := object{}
	_ = json.Unmarshal(text, &o) // what is no object has no parts
	return o
}

// list is a part that is a list.
func (o object) list(name string) []json.RawMessage {
	var out []json.RawMessage
	_ = json.Unmarshal(o[name], &out) // what is no list has no entries
	return out
}

func (o object) set(name string, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // the values are plain
	}
	o[name] = text
}

// split leaves some entries of a list out: at least one.
func split(list []json.RawMessage, dice *rand.Rand) (kept, left []json.RawMessage, taken []bool) {
	taken = make([]bool, len(list))
	out := dice.IntN(len(list))
	for i, e := range list {
		if i == out || dice.IntN(2) == 0 {
			left = append(left, e)
			continue
		}
		taken[i] = true
		kept = append(kept, e)
	}
	return kept, left, taken
}

// partial carries out a part of a batch, and answers for the rest as the service does. forward hands on a request with this body.
func partial(c Call, body []byte, dice *rand.Rand, forward func([]byte) (answer, error)) (answer, error) {
	in := parse(body)
	switch c.Operation {
	case "SendMessageBatch", "PutEvents":
		list := in.list("Entries")
		if len(list) == 0 {
			return forward(body)
		}
		kept, left, taken := split(list, dice)
		a, out := answer{status: http.StatusOK, header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}}, object{}
		if len(kept) > 0 {
			in.set("Entries", kept)
			var err error
			if a, err = forward(in.bytes()); err != nil || a.status != http.StatusOK {
				return a, err
			}
			out = parse(a.body)
		}
		if c.Operation == "SendMessageBatch" {
			failed := out.list("Failed")
			for _, e := range left {
				failed = append(failed, object{"Id": parse(e)["Id"], "SenderFault": json.RawMessage("false"), "Code": json.RawMessage(`"InternalError"`), "Message": json.RawMessage(`"a fault of the test"`)}.bytes())
			}
			out.set("Failed", failed)
			if out["Successful"] == nil {
				out["Successful"] = json.RawMessage("[]")
			}
		} else {
			answers, done := out.list("Entries"), make([]json.RawMessage, 0, len(list))
			refused := len(left)
			for _, was := range taken {
				if was && len(answers) > 0 {
					done, answers = append(done, answers[0]), answers[1:]
					continue
				}
				done = append(done, json.RawMessage(`{"ErrorCode":"ThrottlingException","ErrorMessage":"a fault of the test"}`))
			}
			var failed int
			_ = json.Unmarshal(out["FailedEntryCount"], &failed) // absent: none
			out.set("FailedEntryCount", failed+refused)
			out.set("Entries", done)
		}
		return rewritten(a, out), nil
	case "BatchGetItem":
		return unprocessed(in, "UnprocessedKeys", dice, forward, func(table json.RawMessage) (json.RawMessage, json.RawMessage) {
			kept, left := parse(table), parse(table)
			some, rest, _ := split(kept.list("Keys"), dice)
			kept.set("Keys", some)
			left.set("Keys", rest)
			if len(some) == 0 {
				return nil, left.bytes()
			}
			return kept.bytes(), left.bytes()
		})
	default: // BatchWriteItem
		return unprocessed(in, "UnprocessedItems", dice, forward, func(table json.RawMessage) (json.RawMessage, json.RawMessage) {
			var list []json.RawMessage
			_ = json.Unmarshal(table, &list) // what is no list has no entries
			some, rest, _ := split(list, dice)
			kept, left := object{}, object{}
			kept.set("l", some)
			left.set("l", rest)
			if len(some) == 0 {
				return nil, left["l"]
			}
			return kept["l"], left["l"]
		})
	}
}

// unprocessed carries out a part of a batch of DynamoDB.
func unprocessed(in object, name string, dice *rand.Rand, forward func([]byte) (answer, error), part func(json.RawMessage) (kept, left json.RawMessage)) (answer, error) {
	tables := parse(in["RequestItems"])
	kept, left := object{}, object{}
	for table, list := range tables { // order-free: each table for itself
		k, l := part(list)
		if k != nil {
			kept[table] = k
		}
		left[table] = l
	}
	a, out := answer{status: http.StatusOK, header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}}, object{"Responses": json.RawMessage("{}")}
	if len(kept) > 0 {
		in.set("RequestItems", kept)
		var err error
		if a, err = forward(in.bytes()); err != nil || a.status != http.StatusOK {
			return a, err
		}
		out = parse(a.body)
	}
	rest := parse(out[name])
	for table, l := range left { // order-free: each table for itself
		if rest[table] == nil {
			rest[table] = l
		}
	}
	out.set(name, rest)
	return rewritten(a, out), nil
}

// rewritten is an answer with another body.
func rewritten(a answer, out object) answer {
	header := a.header.Clone()
	for _, name := range []string{"Content-Length", "X-Amz-Crc32"} {
		header.Del(name)
	}
	return answer{status: a.status, header: header, body: out.bytes()}
}

// messages changes each message of a send.
func messages(c Call, body []byte, change func(object)) []byte {
	in := parse(body)
	if c.Operation == "SendMessage" {
		change(in)
		return in.bytes()
	}
	list := in.list("Entries")
	for i, e := range list {
		m := parse(e)
		change(m)
		list[i] = m.bytes()
	}
	in.set("Entries", list)
	return in.bytes()
}

// again is a second send of the same messages, which a FIFO queue takes for others.
func again(c Call, body []byte, dice *rand.Rand) []byte {
	return messages(c, body, func(m object) {
		if m["MessageDeduplicationId"] != nil {
			m.set("MessageDeduplicationId", fmt.Sprintf("again-%016x", dice.Uint64()))
		}
	})
}

// late is a send whose messages arrive up to five seconds later. A FIFO queue keeps its order.
func late(c Call, body []byte, dice *rand.Rand) []byte {
	return messages(c, body, func(m object) {
		if m["MessageGroupId"] != nil && strings.HasSuffix(c.Resource, ".fifo") {
			return
		}
		var delay int
		_ = json.Unmarshal(m["DelaySeconds"], &delay) // absent: none
		m.set("DelaySeconds", min(delay+1+dice.IntN(5), 900))
	})
}
