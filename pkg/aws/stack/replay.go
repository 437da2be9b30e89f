package stack

// ReplayRequest is the event that lets the publisher look after its failures. Each hour a rule sends one, and `wovyr unpublished` does.
type ReplayRequest struct {
	Wovyr string `json:"wovyr"` // ReplayEvent
	// Look only says what there is: nothing is published, and nothing removed.
	Look bool `json:"look,omitempty"`
}

// Replayed is what a replay came to.
type Replayed struct {
	// Messages is how many messages of the queue were looked at, Published how many commits were published, Gone how many were not there any
	// more: their executions were purged.
	Messages  int `json:"messages"`
	Published int `json:"published"`
	Gone      int `json:"gone"`
	// Kept are the commits that stay, with the reason.
	Kept []Unpublished `json:"kept"`
	// More says that there was no time for all: ask again.
	More bool `json:"more"`
}

// Unpublished is a commit that the index, the bus and waiting executions do not know of, or a part of the stream that nobody can read any more.
type Unpublished struct {
	Tenant    string `json:"tenant,omitempty"`
	Execution string `json:"execution_id,omitempty"`
	Version   uint64 `json:"version,omitempty"` // of the commit's first event
	Cause     string `json:"cause"`
	// Since and Until bound the time of what cannot be read any more.
	Since string `json:"since,omitempty"`
	Until string `json:"until,omitempty"`
}
