package memory

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"sync"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// Payloads implements eventstore.PayloadStore.
type Payloads struct {
	mu    sync.Mutex
	limit int64
	items map[payloadKey]*payload
	held  map[eventstore.Stream][]eventstore.Ref // in the order in which they were taken
}

var _ eventstore.PayloadStore = (*Payloads)(nil)

type payloadKey struct {
	tenant string
	ref    eventstore.Ref
}

type payload struct {
	bytes  []byte
	owners map[eventstore.Stream]bool
}

// NewPayloads returns an empty store for payloads of at most limit bytes; 0 means eventstore.MaxPayload.
func NewPayloads(limit int64) *Payloads {
	if limit == 0 {
		limit = eventstore.MaxPayload
	}
	return &Payloads{limit: limit, items: map[payloadKey]*payload{}, held: map[eventstore.Stream][]eventstore.Ref{}}
}

// Put implements eventstore.Payloads.
func (p *Payloads) Put(ctx context.Context, owner eventstore.Stream, r io.Reader) (eventstore.Ref, error) {
	if err := owner.Check(); err != nil {
		return eventstore.Ref{}, err
	}
	if err := ctx.Err(); err != nil {
		return eventstore.Ref{}, err
	}
	content, err := io.ReadAll(io.LimitReader(r, p.limit+1))
	if err != nil {
		return eventstore.Ref{}, err
	}
	ref := eventstore.Ref{Hash: sha256.Sum256(content), Size: int64(len(content))}
	if ref.Size > p.limit {
		return eventstore.Ref{}, &eventstore.LimitError{Field: "payload", Limit: p.limit, Actual: ref.Size}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := payloadKey{owner.Tenant, ref}
	if p.items[key] == nil {
		p.items[key] = &payload{bytes: content, owners: map[eventstore.Stream]bool{}}
	}
	p.hold(owner, key)
	return ref, nil
}

// hold records an owner. The caller holds the lock.
func (p *Payloads) hold(owner eventstore.Stream, key payloadKey) {
	if item := p.items[key]; !item.owners[owner] {
		item.owners[owner] = true
		p.held[owner] = append(p.held[owner], key.ref)
	}
}

// Open implements eventstore.Payloads.
func (p *Payloads) Open(ctx context.Context, tenant string, ref eventstore.Ref) (io.ReadCloser, error) {
	if err := eventstore.CheckTenant(tenant); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	item := p.items[payloadKey{tenant, ref}]
	if item == nil {
		return nil, &eventstore.NotFoundError{What: "payload " + ref.String()}
	}
	return eventstore.NewPayloadReader(ref, io.NopCloser(bytes.NewReader(item.bytes))), nil
}

// Own implements eventstore.Owners.
func (p *Payloads) Own(ctx context.Context, owner eventstore.Stream, refs ...eventstore.Ref) error {
	if err := owner.Check(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, ref := range refs {
		key := payloadKey{owner.Tenant, ref}
		if p.items[key] == nil {
			return &eventstore.NotFoundError{What: "payload " + ref.String()}
		}
		p.hold(owner, key)
	}
	return nil
}

// Release implements eventstore.Owners.
func (p *Payloads) Release(ctx context.Context, owner eventstore.Stream) error {
	if err := owner.Check(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, ref := range p.held[owner] {
		key := payloadKey{owner.Tenant, ref}
		delete(p.items[key].owners, owner)
		if len(p.items[key].owners) == 0 {
			delete(p.items, key)
		}
	}
	delete(p.held, owner)
	return nil
}

// Rewrite replaces the bytes of a payload, as somebody would who may write to the store's bytes: for tests.
func (p *Payloads) Rewrite(tenant string, ref eventstore.Ref, content []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.items[payloadKey{tenant, ref}].bytes = content
}

// Stored returns the number of payloads.
func (p *Payloads) Stored() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.items)
}
