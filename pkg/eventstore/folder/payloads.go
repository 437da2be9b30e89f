package folder

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// Payloads implements eventstore.PayloadStore.
type Payloads struct {
	root  string
	limit int64
	// locks keep a payload from being collected while somebody begins to hold it.
	locks [64]sync.Mutex
}

var _ eventstore.PayloadStore = (*Payloads)(nil)

// Options are what may be chosen.
type Options struct {
	// Limit is the largest payload in bytes; 0 means eventstore.MaxPayload.
	Limit int64
	// ReadOnly is for looking at the folder of another process: nothing is made or cleaned up, and nothing may be written.
	ReadOnly bool
}

// Open opens a folder of payloads, and makes it if it is not there. What a crash left half written is removed.
func Open(root string, o Options) (*Payloads, error) {
	if o.Limit == 0 {
		o.Limit = eventstore.MaxPayload
	}
	p := &Payloads{root: root, limit: o.Limit}
	if o.ReadOnly {
		p.limit = -1
		return p, nil
	}
	if err := os.RemoveAll(filepath.Join(root, "new")); err != nil {
		return nil, fmt.Errorf("open payloads: %w", err)
	}
	if err := makeFolder(filepath.Join(root, "new")); err != nil {
		return nil, fmt.Errorf("open payloads: %w", err)
	}
	return p, nil
}

// ErrReadOnly says that the folder was opened read-only.
var ErrReadOnly = errors.New("the payloads were opened read-only")

func digest(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func (p *Payloads) data(tenant string, ref eventstore.Ref) string {
	name := ref.Hash.String()
	return filepath.Join(p.root, "data", digest(tenant), name[:2], name)
}

// mark is the file of a hold, in the order of its owners or of its payloads.
type mark struct{ held, owners string }

func (p *Payloads) mark(owner eventstore.Stream, ref eventstore.Ref) mark {
	tenant, holder, name := digest(owner.Tenant), digest(owner.Tenant, owner.ID), ref.Hash.String()+"."+strconv.FormatInt(ref.Size, 10)
	return mark{filepath.Join(p.root, "held", tenant, holder, name), filepath.Join(p.root, "owners", tenant, name, holder)}
}

// lock locks a payload of a tenant and returns what unlocks it.
func (p *Payloads) lock(tenant string, ref eventstore.Ref) func() {
	h := fnv.New32a()
	h.Write([]byte(tenant))
	h.Write(ref.Hash[:])
	l := &p.locks[h.Sum32()%uint32(len(p.locks))]
	l.Lock()
	return l.Unlock
}

// check refuses a call that cannot begin.
func (p *Payloads) check(ctx context.Context, wrong error, writes bool) error {
	switch {
	case wrong != nil:
		return wrong
	case ctx.Err() != nil:
		return ctx.Err()
	case writes && p.limit < 0:
		return ErrReadOnly
	}
	return nil
}

// Put implements eventstore.Payloads.
func (p *Payloads) Put(ctx context.Context, owner eventstore.Stream, r io.Reader) (eventstore.Ref, error) {
	if err := p.check(ctx, owner.Check(), true); err != nil {
		return eventstore.Ref{}, err
	}
	f, err := os.CreateTemp(filepath.Join(p.root, "new"), "")
	if err != nil {
		return eventstore.Ref{}, unavailable(err)
	}
	defer os.Remove(f.Name()) // it is gone when it was renamed
	defer f.Close()
	ref, err := p.copy(ctx, f, r)
	if err != nil {
		return eventstore.Ref{}, err
	}
	defer p.lock(owner.Tenant, ref)()
	if err := p.hold(owner, ref); err != nil {
		return eventstore.Ref{}, unavailable(err)
	}
	if err := place(f.Name(), p.data(owner.Tenant, ref), ref.Size); err != nil {
		return eventstore.Ref{}, unavailable(err)
	}
	return ref, nil
}

// copy writes what r yields to a file, down to the disk, and returns its reference.
func (p *Payloads) copy(ctx context.Context, f *os.File, r io.Reader) (eventstore.Ref, error) {
	h := sha256.New()
	source := &source{ctx: ctx, r: io.LimitReader(r, p.limit+1)}
	size, err := io.Copy(io.MultiWriter(f, h), source)
	switch {
	case source.err != nil:
		return eventstore.Ref{}, source.err
	case err != nil:
		return eventstore.Ref{}, unavailable(err)
	case size > p.limit:
		return eventstore.Ref{}, &eventstore.LimitError{Field: "payload", Limit: p.limit, Actual: size}
	}
	if err := f.Sync(); err != nil {
		return eventstore.Ref{}, unavailable(err)
	}
	if err := f.Close(); err != nil {
		return eventstore.Ref{}, unavailable(err)
	}
	return eventstore.Ref{Hash: eventstore.Hash(h.Sum(nil)), Size: size}, nil
}

// source remembers the reader's own error, to tell it from one of the disk, and ends with the context.
type source struct {
	ctx context.Context
	r   io.Reader
	err error
}

func (s *source) Read(b []byte) (int, error) {
	if s.err = s.ctx.Err(); s.err != nil {
		return 0, s.err
	}
	n, err := s.r.Read(b)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// place moves a file to where a payload stands, unless it stands there already with its size.
func place(file, to string, size int64) error {
	if info, err := os.Stat(to); err == nil && info.Size() == size {
		return nil
	}
	if err := makeFolder(filepath.Dir(to)); err != nil {
		return err
	}
	if err := os.Rename(file, to); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(to))
}

// hold marks that an owner holds a payload. The caller has its lock.
func (p *Payloads) hold(owner eventstore.Stream, ref eventstore.Ref) error {
	m := p.mark(owner, ref)
	for _, file := range []string{m.held, m.owners} {
		if _, err := os.Stat(file); err == nil {
			continue
		}
		if err := makeFolder(filepath.Dir(file)); err != nil {
			return err
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			return err
		}
		if err := syncFolder(filepath.Dir(file)); err != nil {
			return err
		}
	}
	return nil
}

// Open implements eventstore.Payloads.
func (p *Payloads) Open(ctx context.Context, tenant string, ref eventstore.Ref) (io.ReadCloser, error) {
	if err := p.check(ctx, eventstore.CheckTenant(tenant), false); err != nil {
		return nil, err
	}
	file := p.data(tenant, ref)
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &eventstore.NotFoundError{What: "payload " + ref.String() + " (" + file + ")"}
	}
	if err != nil {
		return nil, unavailable(err)
	}
	return located{eventstore.NewPayloadReader(ref, f), file}, nil
}

// located names the file that turns out to be damaged.
type located struct {
	io.ReadCloser
	file string
}

func (l located) Read(b []byte) (int, error) {
	n, err := l.ReadCloser.Read(b)
	if errors.As(err, new(*eventstore.CorruptPayloadError)) {
		err = fmt.Errorf("%s: %w", l.file, err)
	}
	return n, err
}

// Own implements eventstore.Owners.
func (p *Payloads) Own(ctx context.Context, owner eventstore.Stream, refs ...eventstore.Ref) error {
	for _, ref := range refs {
		if err := p.own(ctx, owner, ref); err != nil {
			return err
		}
	}
	return p.check(ctx, owner.Check(), true)
}

func (p *Payloads) own(ctx context.Context, owner eventstore.Stream, ref eventstore.Ref) error {
	if err := p.check(ctx, owner.Check(), true); err != nil {
		return err
	}
	defer p.lock(owner.Tenant, ref)()
	info, err := os.Stat(p.data(owner.Tenant, ref))
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() != ref.Size:
		return &eventstore.NotFoundError{What: "payload " + ref.String()}
	case err != nil:
		return unavailable(err)
	}
	if err := p.hold(owner, ref); err != nil {
		return unavailable(err)
	}
	return nil
}

// Release implements eventstore.Owners.
func (p *Payloads) Release(ctx context.Context, owner eventstore.Stream) error {
	if err := p.check(ctx, owner.Check(), true); err != nil {
		return err
	}
	folder := filepath.Dir(p.mark(owner, eventstore.Ref{}).held)
	held, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unavailable(err)
	}
	for _, entry := range held {
		hash, size, _ := strings.Cut(entry.Name(), ".")
		ref, err := eventstore.ParseRef("sha256:" + hash + ":" + size)
		if err != nil {
			continue // not a file of this store
		}
		if err := p.drop(owner, ref); err != nil {
			return unavailable(err)
		}
	}
	if err := os.Remove(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unavailable(err)
	}
	return nil
}

// drop ends one hold, and removes the payload if it was the last. The mark that Release looks through goes last.
func (p *Payloads) drop(owner eventstore.Stream, ref eventstore.Ref) error {
	defer p.lock(owner.Tenant, ref)()
	m := p.mark(owner, ref)
	if err := remove(m.owners); err != nil {
		return err
	}
	others, err := os.ReadDir(filepath.Dir(m.owners))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(others) == 0 {
		if err := remove(p.data(owner.Tenant, ref)); err != nil {
			return err
		}
		if err := remove(filepath.Dir(m.owners)); err != nil {
			return err
		}
	}
	return remove(m.held)
}

// remove removes a file or an empty folder, if it is there.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// makeFolder makes a folder and those above it that are missing, down to the disk.
func makeFolder(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	parent := filepath.Dir(path)
	if err := makeFolder(parent); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(parent)
}

// syncFolder makes the names in a folder durable, on systems that can.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

func unavailable(err error) error { return &eventstore.UnavailableError{Op: "payload", Err: err} }
