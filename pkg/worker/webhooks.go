package worker

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// WebhookTakenError refuses a workflow whose webhook has the path of another workflow's: a request could start only one of them.
type WebhookTakenError struct {
	Path, Workflow string
}

// Error says what to do.
func (e *WebhookTakenError) Error() string {
	return fmt.Sprintf("the webhook path %s belongs to workflow %q: give each webhook of a tenant a path of its own", e.Path, e.Workflow)
}

// checkWebhooks looks through the newest versions of the tenant's other workflows for the paths of a definition's webhooks. Two deploys at the
// same moment can miss each other: whoever takes the requests must still choose.
func (w *Worker) checkWebhooks(ctx context.Context, tenant string, def *workflow.Definition) error {
	ours := map[string]bool{}
	for _, t := range def.Triggers {
		if t.Webhook != nil {
			ours[t.Webhook.Path] = true
		}
	}
	if len(ours) == 0 {
		return nil
	}
	for page := (eventstore.Page{}); ; {
		list, next, err := w.Programs.Workflows(ctx, tenant, page)
		if err != nil {
			return err
		}
		for _, d := range list {
			if d.Workflow == def.Name {
				continue
			}
			triggers, err := w.triggersOf(ctx, d)
			if err != nil {
				return err
			}
			for _, t := range triggers {
				if t.Webhook != nil && ours[t.Webhook.Path] {
					return &WebhookTakenError{Path: t.Webhook.Path, Workflow: d.Workflow}
				}
			}
		}
		if next == "" {
			return nil
		}
		page.Cursor = next
	}
}

// triggersOf reads the triggers of a version; a list of workflows comes without what they are.
func (w *Worker) triggersOf(ctx context.Context, d eventstore.Definition) ([]workflow.Trigger, error) {
	d, err := w.Programs.definitions.Definition(ctx, d.Tenant, d.Workflow, d.Version)
	if err != nil {
		return nil, err
	}
	var def struct {
		Triggers []workflow.Trigger `json:"triggers"`
	}
	if err := json.Unmarshal(d.Bytes, &def); err != nil {
		return nil, fmt.Errorf("worker: read %s: %w", d, err)
	}
	return def.Triggers, nil
}
