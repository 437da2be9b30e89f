// Package folder keeps payloads as files: each content once for each tenant, streamed in and out, with the executions that hold
// it written beside it.
//
//	new/NAME                        a payload on its way in
//	data/TENANT/HH/HASH             a payload; HH are the first two digits of its hash
//	held/TENANT/OWNER/HASH.SIZE     an owner holds a payload: what a release looks through
//	owners/TENANT/HASH.SIZE/OWNER   the same, the other way round: what tells that nobody holds it any more
//
// TENANT and OWNER are hashes, so that names may hold any character. A payload becomes visible by a rename, after its bytes are on
// the disk; marks are made before it and removed after it, so that a crash leaves marks without a payload, which harm nobody,
// and never a payload without marks, which nobody would collect.
//
// One process writes to a folder; others may read. The store beside it (package sqlite) has the lock for that.
package folder
