package eventstore

import (
	"context"
	"fmt"
)

// Definitions hold compiled workflows, which never change (DSL, "Versions").
type Definitions interface {
	// PutDefinition stores a version. The same version with the same hash is done already; with another, it is an *ExistsError.
	// Versions are numbered by the caller: the newest + 1, once more after an *ExistsError.
	PutDefinition(ctx context.Context, d Definition) error
	// Definition returns one version, 0 for the newest, or a *NotFoundError. It is strongly consistent.
	Definition(ctx context.Context, tenant, workflow string, version uint64) (Definition, error)
}

// Workflows list what the catalogue holds. Bytes are left out.
type Workflows interface {
	// Workflows returns the newest version of each workflow of a tenant, by name.
	Workflows(ctx context.Context, tenant string, p Page) ([]Definition, string, error)
	// Versions returns the versions of a workflow, newest first.
	Versions(ctx context.Context, tenant, workflow string, p Page) ([]Definition, string, error)
}

// Aliases are names for versions that may be moved.
type Aliases interface {
	// PutAlias stores an alias whose Revision is the stored one's + 1 (1 for a new alias), else returns a *ConflictError.
	// The same revision with the same content is done already.
	PutAlias(ctx context.Context, a Alias) error
	// Alias returns an alias, or a *NotFoundError. It is strongly consistent.
	Alias(ctx context.Context, tenant, workflow, name string) (Alias, error)
	// Aliases returns the aliases of a workflow, by name.
	Aliases(ctx context.Context, tenant, workflow string, p Page) ([]Alias, string, error)
}

// Definition is one version of a workflow.
type Definition struct {
	Tenant   string
	Workflow string
	Version  uint64 // from 1
	Hash     Hash   // of its content, as its writer computes it
	Created  int64
	Bytes    []byte // at most MaxDefinition
}

// Alias names a version of a workflow, or splits starts between several.
type Alias struct {
	Tenant   string
	Workflow string
	Name     string
	Revision uint64 // from 1
	Updated  int64
	// Targets are at most MaxAliasTargets; none switches the alias off.
	Targets []Target
}

// Target is one version that an alias leads to, with its share of the starts.
type Target struct {
	Version uint64
	Weight  uint32
}

// Check returns a *LimitError or *InvalidError for a definition that no store takes.
func (d Definition) Check() error {
	if d.Version == 0 || d.Version > MaxSequence {
		return &InvalidError{Field: "definition version", Reason: "versions run from 1 to MaxSequence"}
	}
	return checks(
		CheckWorkflow(d.Tenant, d.Workflow),
		checkLimit("definition", len(d.Bytes), MaxDefinition),
	)
}

// String is for messages.
func (d Definition) String() string {
	return fmt.Sprintf("workflow %s/%s version %d", d.Tenant, d.Workflow, d.Version)
}

// Check returns a *LimitError or *InvalidError for an alias that no store takes.
func (a Alias) Check() error {
	if a.Revision == 0 || a.Revision > MaxSequence {
		return &InvalidError{Field: "alias revision", Reason: "revisions run from 1 to MaxSequence"}
	}
	return checks(
		CheckWorkflow(a.Tenant, a.Workflow),
		checkName("alias", a.Name, MaxType),
		checkLimit("alias targets", len(a.Targets), MaxAliasTargets),
	)
}

// String is for messages.
func (a Alias) String() string {
	return fmt.Sprintf("alias %s of workflow %s/%s", a.Name, a.Tenant, a.Workflow)
}

// CheckWorkflow returns a *LimitError or *InvalidError for a name of a workflow that no store takes.
func CheckWorkflow(tenant, workflow string) error {
	return checks(checkName("tenant", tenant, MaxTenant), checkName("workflow", workflow, MaxName))
}

// CheckTenant returns a *LimitError or *InvalidError for a name of a tenant that no store takes.
func CheckTenant(tenant string) error { return checkName("tenant", tenant, MaxTenant) }
