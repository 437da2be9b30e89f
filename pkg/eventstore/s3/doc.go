// Package s3 keeps payloads in a bucket: each once for a tenant and content, streamed in and out, with a mark for each execution that holds
// it (commit protocol, point 10).
//
// Objects of a bucket:
//
//	data/TENANT/HASH.SIZE           the payload
//	held/TENANT/EXECUTION/HASH.SIZE/ID a mark: what an execution holds
//	owners/TENANT/HASH.SIZE/EXECUTION/ID the same, the other way round
//	collecting/TENANT/HASH.SIZE/ID  somebody is about to remove the payload if nobody holds it; what a crash leaves counts for two minutes, and the
//	                                bucket's lifecycle removes it
//	incoming/ID                     a large payload whose hash is not known yet; what a crash leaves there, the bucket's lifecycle removes
//
// Holding and collecting meet as two people at a door: who begins to hold marks that and then looks for collectors, who collects marks that and
// then looks for holders. S3 is strongly consistent, so at least one sees the other, and a payload that is held is never removed.
package s3
