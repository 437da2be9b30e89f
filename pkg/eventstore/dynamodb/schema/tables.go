package schema

// Names of attributes. Each item pays for them, so they are one letter.
const (
	Partition = "p"
	Sort      = "s"
	Expires   = "x"

	// Keys of the secondary indexes of Index.
	Shard   = "h"
	Due     = "d"
	Purge   = "g"
	List    = "l"
	Order   = "o"
	Fixed   = "f"
	Current = "z"
)

// The tables.
var (
	// History holds commits and what belongs to an execution (claims, notices), content events with their subscriptions, and dead letters.
	History = Table{Name: "history", Partition: Key{Partition, "S"}, Sort: Key{Sort, "S"}, TTL: Expires, Stream: true}
	// Catalogue holds definitions and aliases.
	Catalogue = Table{Name: "catalogue", Partition: Key{Partition, "S"}, Sort: Key{Sort, "S"}}
	// Index holds a row for each execution.
	Index = Table{Name: "index", Partition: Key{Partition, "S"}, TTL: Expires, Indexes: []SecondaryIndex{
		{Name: IndexDue, Partition: Key{Shard, "N"}, Sort: Key{Due, "N"}, KeysOnly: true},
		{Name: IndexPurge, Partition: Key{Shard, "N"}, Sort: Key{Purge, "N"}, KeysOnly: true},
		{Name: IndexList, Partition: Key{List, "S"}, Sort: Key{Order, "S"}, Include: []string{Fixed, Current}},
	}}
)

// Tables are all of them.
var Tables = []Table{History, Catalogue, Index}

// Names of the secondary indexes of Index.
const (
	IndexDue   = "due"
	IndexPurge = "purge"
	IndexList  = "list"
)

// StreamFilter selects, of the changes of History, new commits: the pattern of the event source that feeds the publisher. Nobody pays for
// invocations with other changes then.
const StreamFilter = `{"eventName":["INSERT"],"dynamodb":{"Keys":{"p":{"S":[{"prefix":"` + CommitPartition + `"}]},"s":{"S":[{"prefix":"` + CommitSort + `"}]}}}}`

// Partition keys begin with the kind of the items below them, so that rights can be given by kind (dynamodb:LeadingKeys): who runs a user's
// own code may write claims, and no commits (commit protocol, point 15).
const (
	CommitPartition = "x/"
	ClaimPartition  = "k/"
	TopicPartition  = "t/"
	LetterPartition = "d/"

	// CommitSort begins the sort keys of commits.
	CommitSort = "c"
)
