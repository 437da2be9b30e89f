// Package codec turns what a commit stores into bytes and back: the events of one decision, what is constant in
// the transition records of WF-006 §12, and sometimes the folded state (a checkpoint, WF-002 §8).
//
// CBOR is the form that histories are written in: RFC 8949 with the numbers of the cbor tags as keys, compact
// and with one encoding for one content. JSON is the form for people and tools. Both are Serializers, and
// Decode takes either, so that a history may hold both. What the event store keeps beside the
// bytes (sequence numbers, nonce, hash of the commit before) is not repeated in them.
//
// Histories outlive programs. A program reads every older version of a format, by upcasting, and refuses a newer one
// with *NewerError, which is transient: the message goes back until a newer program takes it.
package codec
