package dynamodb

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

// The limits of DynamoDB, in bytes.
const (
	maxPartition = 2048
	maxSort      = 1024
	maxItem      = 400 << 10
)

// Sort keys begin with the kind of the item, below the kind of the partition. Those of a number sort as the number.
const (
	commitSort = schema.CommitSort
	noticeSort = "n"
	rowSort    = "r" // the row of a commit that has no room for it

	eventSort        = "e"
	subscriptionSort = "s"
	// afterSubscriptions sorts after all of them.
	afterSubscriptions = "t"

	letterSort = "l"
	letterID   = "i"

	versionSort = "v"
	chunkSort   = "b"
)

// Partitions of the catalogue.
const (
	workflowPartition  = "w/" // versions of a workflow
	workflowsPartition = "n/" // workflows of a tenant
	aliasPartition     = "a/"
)

// ordered writes a number so that texts sort as their numbers do: a letter for how many digits there are, then the digits.
func ordered(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	return string(rune('a'+len(digits)-1)) + digits
}

// parseOrdered undoes ordered.
func parseOrdered(text string) (uint64, error) {
	if text == "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseUint(text[1:], 10, 64)
}

// backward writes a time so that later ones sort first.
func backward(t int64) string { return fmt.Sprintf("%016x", uint64(math.MaxInt64)-uint64(t)) }

// parted joins parts to one text that no other parts make: in all but the last, % and / are written %25 and %2F.
func parted(parts ...string) string {
	last := len(parts) - 1
	var b strings.Builder
	for _, p := range parts[:last] {
		b.WriteString(escape.Replace(p))
		b.WriteByte('/')
	}
	b.WriteString(parts[last])
	return b.String()
}

var escape = strings.NewReplacer("%", "%25", "/", "%2F")

// unparted undoes parted for two parts.
func unparted(text string) (first, second string, ok bool) {
	first, second, ok = strings.Cut(text, "/")
	return unescape.Replace(first), second, ok
}

var unescape = strings.NewReplacer("%25", "%", "%2F", "/")

// partition is a partition key of a kind. One that would be too long is a hash, told apart by a % that parted never writes.
func partition(kind string, parts ...string) string {
	if key := kind + parted(parts...); len(key) <= maxPartition {
		return key
	}
	return kind + "%" + digest(parted(parts...))
}

// named is a sort key of a kind and a name. Where that would be too long, it is a hash.
func named(kind, name string) string {
	if len(kind)+1+len(name) <= maxSort {
		return kind + "/" + name
	}
	return kind + "%" + digest(name)
}

// sorted is a sort key that keeps the order of texts. One that would be too long is cut, with a hash behind it: those sort right up to the cut.
func sorted(key string) string {
	if len(key) <= maxSort {
		return key
	}
	sum := digest(key)
	return strings.ToValidUTF8(key[:maxSort-len(sum)-2], "") + "\x00\x03" + sum
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func streamKey(s eventstore.Stream) string { return parted(s.Tenant, s.ID) }

func historyPartition(s eventstore.Stream) string { return schema.CommitPartition + streamKey(s) }

func claimsPartition(s eventstore.Stream) string { return schema.ClaimPartition + streamKey(s) }

// parseStream undoes streamKey.
func parseStream(key string) (eventstore.Stream, error) {
	tenant, id, ok := unparted(key)
	if !ok {
		return eventstore.Stream{}, fmt.Errorf("dynamodb: %q is not the key of an execution", key)
	}
	return eventstore.Stream{Tenant: tenant, ID: id}, nil
}

func topicPartition(t eventstore.Topic) string {
	return partition(schema.TopicPartition, t.Tenant, t.Type, t.Key)
}

// subscriptionKey sorts by execution, then by waiter: the execution ends with a mark that is below all it may hold.
func subscriptionKey(s eventstore.Subscription) string {
	return sorted(subscriptionSort + strings.ReplaceAll(s.Execution, "\x00", "\x00\x02") + "\x00\x01" + s.Waiter)
}
