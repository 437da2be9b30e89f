package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// maxPrograms is how many linked definitions a worker keeps.
const maxPrograms = 512

// Programs loads definitions from the catalogue and links them, each once.
type Programs struct {
	definitions eventstore.Definitions
	aliases     eventstore.Aliases
	workflows   eventstore.Workflows
	cache       *lru.Cache[programKey, *engine.Program]
}

type programKey struct {
	tenant, workflow string
	version          uint64
}

// Catalogue is what Programs reads.
type Catalogue interface {
	eventstore.Definitions
	eventstore.Aliases
	eventstore.Workflows
}

// NewPrograms returns an empty cache over a catalogue.
func NewPrograms(c Catalogue) *Programs {
	cache, err := lru.New[programKey, *engine.Program](maxPrograms)
	if err != nil {
		panic(err) // the size is constant
	}
	return &Programs{definitions: c, aliases: c, workflows: c, cache: cache}
}

// UnknownWorkflowError says that a start names what nobody deployed.
type UnknownWorkflowError struct {
	Tenant, Workflow, Version string
}

// Error says what to do.
func (e *UnknownWorkflowError) Error() string {
	if e.Version == "" {
		return fmt.Sprintf("there is no workflow %q: deploy it first", e.Workflow)
	}
	return fmt.Sprintf("workflow %q has no version or alias %q: deploy it first, or name another", e.Workflow, e.Version)
}

// Load returns the program of a version.
func (p *Programs) Load(ctx context.Context, tenant, name string, version uint64) (*engine.Program, error) {
	key := programKey{tenant, name, version}
	if program, ok := p.cache.Get(key); ok {
		return program, nil
	}
	d, err := p.definitions.Definition(ctx, tenant, name, version)
	if err != nil {
		return nil, err
	}
	var def workflow.Definition
	if err := json.Unmarshal(d.Bytes, &def); err != nil {
		return nil, fmt.Errorf("worker: read %s: %w", d, err)
	}
	program, err := engine.Link(&def)
	if err != nil {
		return nil, fmt.Errorf("worker: link %s: %w", d, err)
	}
	p.cache.Add(key, program)
	return program, nil
}

// Resolve finds the version that a start means: a number, an alias, or empty for the alias `live` and, without one, the newest.
// key spreads the starts of a split alias. The error is an *UnknownWorkflowError if there is none.
func (p *Programs) Resolve(ctx context.Context, tenant, name, version, key string) (eventstore.Definition, error) {
	number, err := p.number(ctx, tenant, name, version, key)
	if err == nil {
		var d eventstore.Definition
		if d, err = p.definitions.Definition(ctx, tenant, name, number); err == nil {
			return d, nil
		}
	}
	if errors.Is(err, eventstore.ErrNotFound) {
		err = &UnknownWorkflowError{Tenant: tenant, Workflow: name, Version: version}
	}
	return eventstore.Definition{}, err
}

// Workflows lists the newest version of each workflow.
func (p *Programs) Workflows(ctx context.Context, tenant string, page eventstore.Page) ([]eventstore.Definition, string, error) {
	return p.workflows.Workflows(ctx, tenant, page)
}

// live is the alias that a start means which names no version.
const live = "live"

func (p *Programs) number(ctx context.Context, tenant, name, version, key string) (uint64, error) {
	if n, err := strconv.ParseUint(version, 10, 64); err == nil && n > 0 {
		return n, nil
	}
	alias := version
	if alias == "" {
		alias = live
	}
	a, err := p.aliases.Alias(ctx, tenant, name, alias)
	switch {
	case version == "" && errors.Is(err, eventstore.ErrNotFound):
		return 0, nil // the newest
	case err != nil:
		return 0, err
	}
	return pick(a.Targets, key)
}

// pick chooses a target by its weight, the same for the same key.
func pick(targets []eventstore.Target, key string) (uint64, error) {
	total := uint64(0)
	for _, t := range targets {
		total += uint64(t.Weight)
	}
	if total == 0 {
		return 0, eventstore.ErrNotFound
	}
	at := hash64(key) % total
	for _, t := range targets {
		if at < uint64(t.Weight) {
			return t.Version, nil
		}
		at -= uint64(t.Weight)
	}
	return 0, eventstore.ErrNotFound
}
