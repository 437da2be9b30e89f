package builtin

import (
	"fmt"
	"net/http"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/egress"
	"github.com/wovyr/wovyr/pkg/activity/grpccall"
	"github.com/wovyr/wovyr/pkg/activity/httpcall"
	"github.com/wovyr/wovyr/pkg/activity/script"
	"github.com/wovyr/wovyr/pkg/activity/std"
)

// Options are what deployments differ in.
type Options struct {
	// Guard judges the addresses that activities may call.
	Guard *egress.Guard
	// Dir is the folder from which paths in steps are taken (descriptor sets, modules, certificates).
	Dir string
	// Cache is a folder for compiled scripts; empty: none is kept.
	Cache string
}

// Registry returns a registry with all kinds and the functions of std.
func Registry(o Options) (*activity.Registry, error) {
	kinds := activity.NewRegistry()
	for _, k := range []activity.Kind{
		httpcall.New(httpcall.Options{Guard: o.Guard}).Kind(),
		grpccall.New(grpccall.Options{Guard: o.Guard, Dir: o.Dir}).Kind(),
		script.New(script.Options{Dir: o.Dir, Cache: o.Cache}),
	} {
		if err := kinds.Add(k); err != nil {
			return nil, err
		}
	}
	kinds.Functions.AddForm("url", &activity.Remote{Client: &http.Client{Transport: o.Guard.Transport()}})
	if err := kinds.Functions.Add(std.Functions()...); err != nil {
		return nil, fmt.Errorf("builtin: %w", err)
	}
	return kinds, nil
}
