package dynamodb

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

// item is one item, or a part of one. Attributes that are zero are left out: they cost.
type item map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func unsigned(n uint64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatUint(n, 10)}
}

func binaryValue(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

// attrExpires holds exactly when an item may be forgotten; the time to live of the table is in seconds.
const attrExpires = "e"

// key is the key of an item in a table with a sort key.
func key(partition, sort string) item {
	return item{schema.Partition: text(partition), schema.Sort: text(sort)}
}

func (i item) setText(name, s string) {
	if s != "" {
		i[name] = text(s)
	}
}

func (i item) setNumber(name string, n int64) {
	if n != 0 {
		i[name] = number(n)
	}
}

func (i item) setBytes(name string, b []byte) {
	if len(b) > 0 {
		i[name] = binaryValue(b)
	}
}

// setExpires says when the item may be forgotten, exactly, and in the seconds that DynamoDB goes by.
func (i item) setExpires(at int64) {
	if at != 0 {
		i[attrExpires], i[schema.Expires] = number(at), number(seconds(at))
	}
}

// seconds rounds a time up to seconds since 1970.
func seconds(at int64) int64 {
	const second = 1e9
	s := at / second
	if at%second > 0 {
		s++
	}
	return s
}

func (i item) text(name string) string {
	if v, ok := i[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

func (i item) number(name string) int64 {
	if v, ok := i[name].(*types.AttributeValueMemberN); ok {
		n, _ := strconv.ParseInt(v.Value, 10, 64) // DynamoDB has checked that it is a number, and we wrote it
		return n
	}
	return 0
}

func (i item) unsigned(name string) uint64 {
	if v, ok := i[name].(*types.AttributeValueMemberN); ok {
		n, _ := strconv.ParseUint(v.Value, 10, 64)
		return n
	}
	return 0
}

func (i item) bytes(name string) []byte {
	if v, ok := i[name].(*types.AttributeValueMemberB); ok {
		return v.Value
	}
	return nil
}

func (i item) has(name string) bool {
	_, ok := i[name]
	return ok
}

// size is what DynamoDB bills an item by: its names and values. Numbers count about a byte for two digits.
func (i item) size() int {
	n := 0
	for name, v := range i {
		n += len(name)
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			n += len(v.Value)
		case *types.AttributeValueMemberB:
			n += len(v.Value)
		case *types.AttributeValueMemberN:
			n += len(v.Value)/2 + 2
		default:
			n++
		}
	}
	return n
}
