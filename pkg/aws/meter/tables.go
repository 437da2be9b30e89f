package meter

import (
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// asking returns a copy of a request to DynamoDB that asks what it took.
func asking(in any) any {
	const all = types.ReturnConsumedCapacityIndexes
	switch in := in.(type) {
	case *dynamodb.PutItemInput:
		c := *in
		c.ReturnConsumedCapacity = all
		return &c
	case *dynamodb.UpdateItemInput:
		c := *in
		c.ReturnConsumedCapacity = all
		return &c
	case *dynamodb.DeleteItemInput:
		c := *in
		c.ReturnConsumedCapacity = all
		return &c
	case *dynamodb.TransactWriteItemsInput:
		c := *in
		c.ReturnConsumedCapacity = all
		return &c
	case *dynamodb.BatchWriteItemInput:
		c := *in
		c.ReturnConsumedCapacity = all
		return &c
	case *dynamodb.GetItemInput:
		c := *in
		c.ReturnConsumedCapacity = all
		return &c
	case *dynamodb.BatchGetItemInput:
		c := *in
		c.ReturnConsumedCapacity = all
		return &c
	case *dynamodb.QueryInput:
		c := *in
		c.ReturnConsumedCapacity = all
		return &c
	case *dynamodb.ScanInput:
		c := *in
		c.ReturnConsumedCapacity = all
		return &c
	}
	return in
}

// ofTables is what a request to DynamoDB used.
func ofTables(in, out any, err error) Usage {
	if err != nil {
		return ofRefusal(in, err)
	}
	switch out := out.(type) {
	case *dynamodb.PutItemOutput:
		item := in.(*dynamodb.PutItemInput).Item
		return written(said(writeUnits(Size(item)), out.ConsumedCapacity), Size(item))
	case *dynamodb.UpdateItemOutput:
		return written(said(1, out.ConsumedCapacity))
	case *dynamodb.DeleteItemOutput:
		return written(said(1, out.ConsumedCapacity))
	case *dynamodb.TransactWriteItemsOutput:
		var sizes []int
		least := 0.0
		for _, i := range in.(*dynamodb.TransactWriteItemsInput).TransactItems {
			least += 2
			if i.Put != nil {
				sizes = append(sizes, Size(i.Put.Item))
				least += 2 * (writeUnits(Size(i.Put.Item)) - 1)
			}
		}
		return written(said(least, consumed(out.ConsumedCapacity)...), sizes...)
	case *dynamodb.BatchWriteItemOutput:
		least := 0.0
		for _, requests := range in.(*dynamodb.BatchWriteItemInput).RequestItems {
			least += float64(len(requests))
		}
		return written(said(least, consumed(out.ConsumedCapacity)...))
	case *dynamodb.GetItemOutput:
		return unit(Read, said(readUnits(Size(out.Item), in.(*dynamodb.GetItemInput).ConsistentRead), out.ConsumedCapacity))
	case *dynamodb.BatchGetItemOutput:
		request := in.(*dynamodb.BatchGetItemInput)
		least := 0.0
		for table, items := range out.Responses {
			for _, i := range items {
				least += readUnits(Size(i), request.RequestItems[table].ConsistentRead)
			}
		}
		return unit(Read, said(least, consumed(out.ConsumedCapacity)...))
	case *dynamodb.QueryOutput:
		return unit(Read, said(readUnits(sizes(out.Items), in.(*dynamodb.QueryInput).ConsistentRead), out.ConsumedCapacity))
	case *dynamodb.ScanOutput:
		return unit(Read, said(readUnits(sizes(out.Items), in.(*dynamodb.ScanInput).ConsistentRead), out.ConsumedCapacity))
	}
	return Usage{}
}

// ofRefusal is what a write used whose condition failed: as much as if it had written what stands there. Other errors cost nothing, as
// far as is known.
func ofRefusal(in any, err error) Usage {
	var refused *types.ConditionalCheckFailedException
	if !errors.As(err, &refused) {
		return Usage{}
	}
	size := Size(refused.Item)
	if put, ok := in.(*dynamodb.PutItemInput); ok && size == 0 {
		size = Size(put.Item)
	}
	return unit(Write, writeUnits(size))
}

func written(units float64, sizes ...int) Usage {
	u := unit(Write, units)
	for _, size := range sizes {
		u.Items++
		u.ItemBytes += size
		u.LargestItem = max(u.LargestItem, size)
	}
	return u
}

// said is what DynamoDB says that a request took, or what it must have taken at least: emulators count reads without their sizes.
func said(least float64, answers ...*types.ConsumedCapacity) float64 {
	sum := 0.0
	for _, a := range answers {
		if a != nil && a.CapacityUnits != nil {
			sum += *a.CapacityUnits
		}
	}
	return max(sum, least)
}

func consumed(list []types.ConsumedCapacity) []*types.ConsumedCapacity {
	out := make([]*types.ConsumedCapacity, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

// writeUnits are those of an item of so many bytes.
func writeUnits(bytes int) float64 { return float64(max(1, (bytes+1023)/1024)) }

// readUnits are those of so many bytes.
func readUnits(bytes int, strong *bool) float64 {
	n := float64(max(1, (bytes+4095)/4096))
	if strong == nil || !*strong {
		n /= 2
	}
	return n
}

func sizes(items []map[string]types.AttributeValue) int {
	n := 0
	for _, i := range items {
		n += Size(i)
	}
	return n
}

// Size is what DynamoDB bills an item by, in bytes: its names and values.
func Size(item map[string]types.AttributeValue) int {
	n := 0
	for name, v := range item {
		n += len(name) + valueSize(v)
	}
	return n
}

func valueSize(v types.AttributeValue) int {
	n := 0
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return numberSize(v.Value)
	case *types.AttributeValueMemberSS:
		for _, s := range v.Value {
			n += len(s)
		}
	case *types.AttributeValueMemberBS:
		for _, b := range v.Value {
			n += len(b)
		}
	case *types.AttributeValueMemberNS:
		for _, s := range v.Value {
			n += numberSize(s)
		}
	case *types.AttributeValueMemberL:
		n = 3
		for _, e := range v.Value {
			n += 1 + valueSize(e)
		}
	case *types.AttributeValueMemberM:
		n = 3 + len(v.Value) + Size(v.Value)
	default: // a truth value, or nothing
		return 1
	}
	return n
}

// numberSize is a byte for each pair of digits, aligned on the decimal point, without pairs of zeros at the ends; one more, and one for
// a sign. Numbers with an exponent, which nobody here writes, are taken as their digits.
func numberSize(text string) int {
	digits, negative := strings.CutPrefix(text, "-")
	digits, _, _ = strings.Cut(strings.ToLower(digits), "e")
	whole, fraction, _ := strings.Cut(digits, ".")
	if len(whole)%2 == 1 {
		whole = "0" + whole
	}
	if len(fraction)%2 == 1 {
		fraction += "0"
	}
	pairs := whole + fraction
	for strings.HasPrefix(pairs, "00") {
		pairs = pairs[2:]
	}
	for strings.HasSuffix(pairs, "00") {
		pairs = pairs[:len(pairs)-2]
	}
	n := 1 + len(pairs)/2
	if negative {
		n++
	}
	return n
}
