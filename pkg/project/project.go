package project

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/egress"
)

// FileName is the name of the project file.
const FileName = "wovyr.yaml"

// Defaults of a project without a file.
const (
	DefaultData   = ".wovyr"
	DefaultListen = "127.0.0.1:7233"
)

// Project is what a project file says. Relative paths are taken from its folder.
type Project struct {
	Functions map[string]Function `yaml:"functions"`
	Secrets   map[string]Secret   `yaml:"secrets"`
	Data      string              `yaml:"data"`
	Listen    string              `yaml:"listen"`
	Egress    Egress              `yaml:"egress"`
	Vault     Vault               `yaml:"vault"`

	dir string
}

// Function is a function outside the worker. Exactly one of Command and URL is set.
type Function struct {
	Command []string `yaml:"command" json:"command,omitempty"`
	URL     string   `yaml:"url" json:"url,omitempty"`
}

// Egress says which addresses besides those of the public internet activities may call: a host, all hosts below a domain
// (*.corp.example), an address, a range of addresses.
type Egress struct {
	Allow []string `yaml:"allow"`
}

// Load reads the project file of a folder; a folder without one is a project that says nothing.
func Load(dir string) (*Project, error) {
	p := &Project{dir: dir, Data: DefaultData, Listen: DefaultListen}
	file := filepath.Join(dir, FileName)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, fmt.Errorf("project: %w", err)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, syntaxError(file, err)
	}
	if root.Kind != 0 { // not only comments
		if err := checkShape(file, &root, reflect.TypeOf(*p)); err != nil {
			return nil, err
		}
		if err := root.Decode(p); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	if err := p.check(func(words ...string) string { return at(file, &root, words...) }); err != nil {
		return nil, err
	}
	if !filepath.IsAbs(p.Data) {
		p.Data = filepath.Join(dir, p.Data)
	}
	return p, nil
}

// check looks at what the shape of the file does not say. place is where something stands in it.
func (p *Project) check(place func(words ...string) string) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(p.Functions)) {
		if f := p.Functions[name]; (len(f.Command) == 0) == (f.URL == "") {
			errs = append(errs, fmt.Errorf("%s: function %s: write either command: [ program, argument ] or url: …", place("functions", name), name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Secrets)) {
		if err := p.Secrets[name].check(name); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", place("secrets", name), err))
		}
	}
	if _, err := p.SecretLifetime(); err != nil {
		errs = append(errs, fmt.Errorf("%s: %w", place("vault", "lifetime"), err))
	}
	if _, err := p.Guard(); err != nil {
		errs = append(errs, fmt.Errorf("%s: %w", place("egress", "allow"), err))
	}
	return errors.Join(errs...)
}

// Dir is the folder of the project file, in which modules of scripts and descriptor sets are.
func (p *Project) Dir() string { return p.dir }

// Guard returns the guard of what activities may call.
func (p *Project) Guard() (*egress.Guard, error) { return egress.New(p.Egress.Allow...) }

// Register makes the project's functions callable. Where one has a URL, its host may be called, for the project itself names it.
func (p *Project) Register(fs *activity.Functions) error {
	guard, err := p.Guard()
	if err != nil {
		return err
	}
	fs.AddForm("command", &activity.Command{Dir: p.dir})
	fs.AddForm("url", &activity.Remote{Client: &http.Client{Transport: guard.Transport()}})
	for name, f := range p.Functions { // order-free: names are distinct
		target, err := json.Marshal(f)
		if err != nil {
			return fmt.Errorf("project: function %s: %w", name, err)
		}
		var by activity.Activity
		if f.URL != "" {
			if by, err = f.remote(guard); err != nil {
				return fmt.Errorf("project: function %s: %w", name, err)
			}
		}
		if err := fs.Alias(name, target, by); err != nil {
			return err
		}
	}
	return nil
}

// remote calls the function's URL, and its host even if it is not public.
func (f Function) remote(guard *egress.Guard) (activity.Activity, error) {
	u, err := url.Parse(f.URL)
	if err != nil || u.Hostname() == "" {
		return nil, fmt.Errorf("%q is no URL: write url: https://…", f.URL)
	}
	if guard, err = guard.With(host(u)); err != nil {
		return nil, err
	}
	return &activity.Remote{Client: &http.Client{Transport: guard.Transport()}}, nil
}

// host is where a URL leads, with its port.
func host(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port)
}
