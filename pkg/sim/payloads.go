package sim

import (
	"context"
	"io"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/memory"
)

// payloads is the payload store as a worker sees it through a network.
type payloads struct {
	*memory.Payloads
	w *world
}

// lost is the fault of a call that was done and whose answer never came: it can be made again.
func (p payloads) lost(op string) error {
	if err := p.w.lostAnswer(op); err != nil {
		return &eventstore.UnavailableError{Op: op, Err: err}
	}
	return nil
}

// Put implements eventstore.Payloads.
func (p payloads) Put(ctx context.Context, owner eventstore.Stream, r io.Reader) (eventstore.Ref, error) {
	if err := p.w.call("put a payload"); err != nil {
		return eventstore.Ref{}, err
	}
	ref, err := p.Payloads.Put(ctx, owner, r)
	if err == nil {
		err = p.lost("put a payload")
	}
	return ref, err
}

// Open implements eventstore.Payloads.
func (p payloads) Open(ctx context.Context, tenant string, ref eventstore.Ref) (io.ReadCloser, error) {
	if err := p.w.call("open a payload"); err != nil {
		return nil, err
	}
	return p.Payloads.Open(ctx, tenant, ref)
}

// Own implements eventstore.Owners.
func (p payloads) Own(ctx context.Context, owner eventstore.Stream, refs ...eventstore.Ref) error {
	err := p.w.call("hold payloads")
	if err == nil {
		err = p.Payloads.Own(ctx, owner, refs...)
	}
	if err == nil {
		err = p.lost("hold payloads")
	}
	return err
}

// Release implements eventstore.Owners.
func (p payloads) Release(ctx context.Context, owner eventstore.Stream) error {
	err := p.w.call("release payloads")
	if err == nil {
		p.w.released[owner] = true
		err = p.Payloads.Release(ctx, owner)
	}
	if err == nil {
		err = p.lost("release payloads")
	}
	return err
}
