package dynamodb

import (
	"encoding/binary"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

// Attributes of a commit.
const (
	attrHead    = "h" // what the store itself reads of it, packed
	attrData    = "d"
	attrRow     = "r" // the execution's row as of the commit, packed
	attrRowFar  = "f" // the row stands in an item of its own, for want of room
	attrPublish = "e" // it holds something for others
	attrTomb    = "t" // there was a commit, and its execution was purged
)

// headForm is the first byte of a commit's head.
const headForm = 1

// commitItem is the item of a commit. Its row is packed already, or nil.
func commitItem(s eventstore.Stream, c eventstore.Commit, row []byte) item {
	i := key(historyPartition(s), commitKey(c.First))
	i[attrHead] = binaryValue(packHead(c))
	i.setBytes(attrData, c.Data)
	i.setBytes(attrRow, row)
	if c.Publish {
		i[attrPublish] = &types.AttributeValueMemberBOOL{Value: true}
	}
	return i
}

func commitKey(first uint64) string { return commitSort + ordered(first) }

// rowKey is where the row of a commit stands that has no room for it. Writers that race for a commit write different ones.
func rowKey(c eventstore.Commit) string { return rowSort + ordered(c.First) + "/" + c.Nonce.String() }

// packHead packs what the store itself reads of a commit: how many events follow its first, how far back the checkpoint is (0: there is
// none, 1: here), the nonce, the hash of the commit before.
func packHead(c eventstore.Commit) []byte {
	back := uint64(0)
	if c.Checkpoint > 0 {
		back = c.First - c.Checkpoint + 1
	}
	b := make([]byte, 0, 64)
	b = append(b, headForm)
	b = binary.AppendUvarint(b, c.Last-c.First)
	b = binary.AppendUvarint(b, back)
	b = append(b, c.Nonce[:]...)
	return append(b, c.Prev[:]...)
}

var errHead = errors.New("dynamodb: the head of a commit is not what this program writes: was it written by a newer one?")

// readCommit undoes commitItem.
func readCommit(i item) (eventstore.Commit, error) {
	c := eventstore.Commit{Data: i.bytes(attrData)}
	first, err := parseOrdered(i.text(schema.Sort)[len(commitSort):])
	if err != nil {
		return c, errHead
	}
	b := i.bytes(attrHead)
	if len(b) == 0 || b[0] != headForm {
		return c, errHead
	}
	more, n := binary.Uvarint(b[1:])
	if n <= 0 {
		return c, errHead
	}
	b = b[1+n:]
	back, n := binary.Uvarint(b)
	if n <= 0 || len(b[n:]) != len(c.Nonce)+len(c.Prev) || back > first {
		return c, errHead
	}
	c.First, c.Last = first, first+more
	if back > 0 {
		c.Checkpoint = first - back + 1
	}
	copy(c.Prev[:], b[n+copy(c.Nonce[:], b[n:]):])
	return c, nil
}
