package schema

// Table is one table. All are paid by request.
type Table struct {
	// Name is what the table is called in descriptions; its real name is the deployment's.
	Name      string
	Partition Key
	Sort      Key // without a name: none
	// TTL is the attribute that holds when an item may be removed, in seconds since 1970; empty: none.
	TTL string
	// Stream says that its changes are read by the publisher, with the new image of each item.
	Stream  bool
	Indexes []SecondaryIndex
}

// Key is an attribute of a key.
type Key struct {
	Name string
	Type string // S, N or B
}

// SecondaryIndex is a global secondary index. It is sparse: it holds only items that have its keys.
type SecondaryIndex struct {
	Name            string
	Partition, Sort Key
	// KeysOnly and Include say which attributes it holds beside its keys; neither: all.
	KeysOnly bool
	Include  []string
}
