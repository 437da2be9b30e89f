package eventstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"strings"
)

// Payloads keep large values, once for each tenant and content, streamed in and out (commit protocol, point 10).
type Payloads interface {
	// Put stores what r yields and makes owner hold it. More than MaxPayload (or the store's own lower limit) is a *LimitError,
	// an error of r is returned as it is; then nothing is kept. When Put returns nil, the payload is durable.
	Put(ctx context.Context, owner Stream, r io.Reader) (Ref, error)
	// Open returns the payload's bytes, or a *NotFoundError. Its Read returns a *CorruptPayloadError instead of io.EOF if they
	// are not those that were put: read to the end before you act on them.
	Open(ctx context.Context, tenant string, ref Ref) (io.ReadCloser, error)
}

// Owners say which executions hold a payload, so that it is collected with the last of them.
type Owners interface {
	// Own makes another execution of the tenant hold payloads that somebody holds: a child's input, a redrive's results. A
	// payload that is not there is a *NotFoundError; those named before it are held.
	Own(ctx context.Context, owner Stream, refs ...Ref) error
	// Release ends all holds of an execution and removes payloads that nobody holds any more. It may be repeated.
	Release(ctx context.Context, owner Stream) error
}

// PayloadStore is both.
type PayloadStore interface {
	Payloads
	Owners
}

// Ref names a payload by its content.
type Ref struct {
	Hash Hash
	Size int64 // bytes
}

// String is "sha256:HEX:SIZE", which ParseRef reads.
func (r Ref) String() string { return fmt.Sprintf("sha256:%s:%d", r.Hash, r.Size) }

// ParseRef reads what Ref.String wrote; anything else is an *InvalidError.
func ParseRef(text string) (Ref, error) {
	var r Ref
	digest, size, _ := strings.Cut(strings.TrimPrefix(text, "sha256:"), ":")
	b, err := hex.DecodeString(digest)
	if err == nil && len(b) == len(r.Hash) {
		copy(r.Hash[:], b)
		_, err = fmt.Sscanf(size, "%d", &r.Size)
	}
	if err != nil || r.Size < 0 || r.String() != text {
		return Ref{}, &InvalidError{Field: "payload reference", Reason: fmt.Sprintf("%q is not sha256:HEX:SIZE", text)}
	}
	return r, nil
}

// NewPayloadReader returns a reader of r's bytes that ends with a *CorruptPayloadError unless they are those that ref names,
// for stores.
func NewPayloadReader(ref Ref, r io.ReadCloser) io.ReadCloser {
	return &payloadReader{ReadCloser: r, ref: ref, hash: sha256.New()}
}

type payloadReader struct {
	io.ReadCloser
	ref  Ref
	hash hash.Hash
	size int64
}

// Read hashes as it goes, and stops with the first byte that is too much.
func (p *payloadReader) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	p.hash.Write(b[:n])
	p.size += int64(n)
	switch {
	case p.size > p.ref.Size:
		return 0, &CorruptPayloadError{Ref: p.ref, Reason: "it is longer than it was"}
	case err != io.EOF:
		return n, err
	case p.size < p.ref.Size:
		return n, &CorruptPayloadError{Ref: p.ref, Reason: "it is shorter than it was"}
	case !bytes.Equal(p.hash.Sum(nil), p.ref.Hash[:]):
		return n, &CorruptPayloadError{Ref: p.ref, Reason: "its bytes are not those that were put"}
	}
	return n, io.EOF
}
