package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/dsl"
)

func (s *Server) deploy(r *http.Request) (answer, error) {
	text, err := io.ReadAll(io.LimitReader(r.Body, maxDocument+1))
	if err != nil {
		return answer{}, err
	}
	if len(text) > maxDocument {
		return answer{}, problem(http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("the document has more than %d bytes", maxDocument), "move bodies into workflows of their own")
	}
	file := r.URL.Query().Get("file")
	if file == "" {
		file = "workflow.yaml"
	}
	def, diagnostics := dsl.Compile(file, text)
	if def != nil && s.Misfits != nil {
		if misfits := s.Misfits(file, def); len(misfits) > 0 {
			def, diagnostics = nil, append(diagnostics, misfits...)
		}
	}
	if def == nil {
		list, err := json.Marshal(diagnostics)
		if err != nil {
			return answer{}, err
		}
		return answer{}, &client.Problem{Status: http.StatusUnprocessableEntity, Code: "document.refused", Title: "the document is refused", Diagnostics: list}
	}
	d, fresh, err := s.Worker.Deploy(r.Context(), s.Tenant, def)
	if err != nil {
		return answer{}, err
	}
	out := client.Deployed{Workflow: d.Workflow, Version: d.Version, Hash: d.Hash.String(), New: fresh, Webhooks: def.Webhooks()}
	if s.Kinds != nil {
		diagnostics = append(diagnostics, Unregistered(r.Context(), file, def, s.Kinds)...)
	}
	if s.Secrets != nil {
		unnamed, err := Unnamed(file, def, s.Secrets)
		if err != nil {
			return answer{}, err
		}
		diagnostics = append(diagnostics, unnamed...)
	}
	if len(diagnostics) > 0 {
		if out.Diagnostics, err = json.Marshal(diagnostics); err != nil {
			return answer{}, err
		}
	}
	return ok(out)
}

func (s *Server) workflows(r *http.Request) (answer, error) {
	page, err := pageOf(r)
	if err != nil {
		return answer{}, err
	}
	list, next, err := s.Worker.Programs.Workflows(r.Context(), s.Tenant, page)
	if err != nil {
		return answer{}, err
	}
	out := client.Page[client.Deployed]{Items: []client.Deployed{}, Next: next}
	for _, d := range list {
		out.Items = append(out.Items, client.Deployed{Workflow: d.Workflow, Version: d.Version, Hash: d.Hash.String()})
	}
	return ok(out)
}
