package worker

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// maxDeployTries bounds how often a deploy takes the next version because somebody else deployed meanwhile.
const maxDeployTries = 16

// Deploy puts a compiled workflow into the catalogue and returns its version: that of the newest one if the content is the same,
// else the next. Where things stand in the document is no content: a version keeps the places of the document that it was first deployed from.
// Versions never change. The error is a *WebhookTakenError if another workflow has the path of one of its webhooks,
// and a *CrowdedError if its events start too many workflows already.
func (w *Worker) Deploy(ctx context.Context, tenant string, def *workflow.Definition) (d eventstore.Definition, isNew bool, err error) {
	if _, err := engine.Link(def); err != nil {
		return d, false, err
	}
	text, err := json.Marshal(def)
	if err != nil {
		return d, false, fmt.Errorf("worker: encode workflow %s: %w", def.Name, err)
	}
	content, err := def.Content()
	if err != nil {
		return d, false, fmt.Errorf("worker: encode workflow %s: %w", def.Name, err)
	}
	hash := eventstore.Hash(sha256.Sum256(content))
	for range maxDeployTries {
		newest, err := w.Programs.definitions.Definition(ctx, tenant, def.Name, 0)
		switch {
		case err == nil && newest.Hash == hash:
			return newest, false, w.listen(ctx, tenant, def)
		case err != nil && !errors.Is(err, eventstore.ErrNotFound):
			return d, false, err
		}
		if err := w.checkTriggers(ctx, tenant, def); err != nil {
			return d, false, err
		}
		if err := w.listen(ctx, tenant, def); err != nil {
			return d, false, err
		}
		d = eventstore.Definition{Tenant: tenant, Workflow: def.Name, Version: newest.Version + 1, Hash: hash, Created: w.Clock.Now(), Bytes: text}
		err = w.Store.PutDefinition(ctx, d)
		var exists *eventstore.ExistsError
		switch {
		case err == nil:
			return d, true, nil
		case !errors.As(err, &exists):
			return d, false, err
		}
	}
	return d, false, fmt.Errorf("worker: deploy %s: %w", def.Name, ErrContended)
}
