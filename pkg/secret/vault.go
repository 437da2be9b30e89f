package secret

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Lifetime is how long a vault keeps a value unless it is told otherwise.
const Lifetime = 5 * time.Minute

// maxKnown is how many values of one tenant a vault remembers for its mask; beyond it the oldest are forgotten.
const maxKnown = 256

// Vault gives secrets to the activities of one process, keeps their values for a time, and remembers what it gave away. It is safe for
// concurrent use.
type Vault struct {
	from    Provider
	life    time.Duration
	missing time.Duration
	clock   func() time.Time

	mu      sync.Mutex
	entries map[entryKey]*entry
	tenants map[string]*known
	all     *Mask // of all tenants; nil when it is to be made
}

type entryKey struct{ tenant, name string }

// entry is one value; who has its turn fetches, while the others wait.
type entry struct {
	turn  chan struct{}
	value string
	// missing is the error of a secret that was not there, which value is empty for. Both hold until then.
	missing error
	until   time.Time
}

// known is what a tenant's activities were given.
type known struct {
	values []Value
	mask   *Mask
}

// NewVault makes a vault over a provider. life is how long a value is used before it is read again: a changed one is seen after that
// at the latest. 0 is Lifetime; negative: each use reads anew.
func NewVault(from Provider, life time.Duration) *Vault {
	if life == 0 {
		life = Lifetime
	}
	return &Vault{from: from, life: life, clock: time.Now, entries: map[entryKey]*entry{}, tenants: map[string]*known{}}
}

// RememberMissing lets the vault, before its first use, remember for a time that a secret is not there (CodeMissing): where looking costs money, anybody
// who may cause it could spend that. Otherwise each use looks anew.
func (v *Vault) RememberMissing(d time.Duration) { v.missing = d }

// Secret returns a value by its name. From then on the tenant's mask hides it. The error is a *workflow.Error, or that of
// ctx, which ends the wait for another's fetch.
func (v *Vault) Secret(ctx context.Context, tenant, name string) (string, error) {
	e := v.entry(entryKey{tenant, name})
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if (e.value != "" || e.missing != nil) && v.clock().Before(e.until) {
		return e.value, e.missing
	}
	value, err := v.from.Get(ctx, Ref{Tenant: tenant, Name: name})
	if err == nil {
		err = checked(name, value)
	}
	if err != nil {
		var typed *workflow.Error
		if v.missing > 0 && errors.As(err, &typed) && typed.Code == CodeMissing {
			e.value, e.missing, e.until = "", err, v.clock().Add(v.missing)
		}
		return "", err
	}
	v.remember(tenant, Value{name, value})
	e.value, e.missing, e.until = value, nil, v.clock().Add(v.life)
	return value, nil
}

func (v *Vault) entry(k entryKey) *entry {
	v.mu.Lock()
	defer v.mu.Unlock()
	e := v.entries[k]
	if e == nil {
		e = &entry{turn: make(chan struct{}, 1)}
		v.entries[k] = e
	}
	return e
}

// remember adds a value to a tenant's mask. Old values of a secret that was changed stay in it: an activity may still answer with one.
func (v *Vault) remember(tenant string, value Value) {
	v.mu.Lock()
	defer v.mu.Unlock()
	k := v.tenants[tenant]
	if k == nil {
		k = &known{}
		v.tenants[tenant] = k
	}
	for _, have := range k.values {
		if have == value {
			return
		}
	}
	k.values = append(k.values, value)
	if over := len(k.values) - maxKnown; over > 0 {
		k.values = append([]Value(nil), k.values[over:]...)
	}
	k.mask, v.all = nil, nil
}

// Mask hides all that a tenant's activities were given in this process. Nil, which masks nothing, if that is nothing.
func (v *Vault) Mask(tenant string) *Mask {
	v.mu.Lock()
	defer v.mu.Unlock()
	k := v.tenants[tenant]
	if k == nil {
		return nil
	}
	if k.mask == nil { // made when it is asked for: many values may have come since
		k.mask = NewMask(k.values...)
	}
	return k.mask
}

// MaskAll hides all that the activities of any tenant were given in this process, as for a log that is not one tenant's.
func (v *Vault) MaskAll() *Mask {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.all == nil {
		var values []Value
		for _, k := range v.tenants { // order-free: sorted below
			values = append(values, k.values...)
		}
		slices.SortFunc(values, func(a, b Value) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Text, b.Text)) })
		v.all = NewMask(values...)
	}
	return v.all
}
