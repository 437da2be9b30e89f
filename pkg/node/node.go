package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/builtin"
	"github.com/wovyr/wovyr/pkg/api"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/local"
	"github.com/wovyr/wovyr/pkg/project"
	"github.com/wovyr/wovyr/pkg/secret"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Tenant is the one tenant of a local node.
const Tenant = "local"

// Options are the choices of a node.
type Options struct {
	Project *project.Project
	// Data is the folder of the store; empty: that of the project.
	Data string
	// Functions are the Go functions that workflows can call, beside those of the project and std.
	Functions []activity.Function
	// Listen is the address of the API; empty: a free port of this machine.
	Listen    string
	Committed func(s eventstore.Stream, events []workflow.Recorded, state *workflow.State)
	// Trouble hears why the store does not work, and nil when it does again; see local.Options.
	Trouble func(err error)
	Log     *slog.Logger
	// Standard makes Log that of the whole process, so that secrets are masked also in what libraries write by the packages log and slog.
	Standard bool
}

// Node is an open node. Run works until its context ends.
type Node struct {
	*local.Platform
	// URL is where the API is.
	URL string

	// Kinds is what its workers can run.
	Kinds *activity.Registry
	// Secrets lists the secrets that they can have, by their names.
	Secrets func() ([]string, error)

	data     string
	listener net.Listener
	server   *http.Server
}

// addressFile tells other processes on this machine where the node that has the data folder open is.
const addressFile = "address.json"

// compiledFolder is where in the data folder compiled scripts are kept, so that the next process starts them sooner.
const compiledFolder = "compiled"

type address struct {
	URL string `json:"url"`
	PID int    `json:"pid"`
}

// Open opens the data folder and the API's address.
func Open(o Options) (*Node, error) {
	if o.Data == "" {
		o.Data = o.Project.Data
	}
	guard, err := o.Project.Guard()
	if err != nil {
		return nil, err
	}
	kinds, err := builtin.Registry(builtin.Options{Guard: guard, Dir: o.Project.Dir(), Cache: filepath.Join(o.Data, compiledFolder)})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(kinds.Functions.Add(o.Functions...), o.Project.Register(kinds.Functions)); err != nil {
		return nil, err
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if err := onlyHere(o.Listen); err != nil {
		return nil, err
	}
	lifetime, err := o.Project.SecretLifetime()
	if err != nil {
		return nil, err
	}
	vault := secret.NewVault(o.Project.SecretProvider(nil), lifetime)
	if o.Log != nil {
		o.Log = slog.New(secret.Handler(o.Log.Handler(), func() *secret.Mask { return vault.Mask(Tenant) }))
		if o.Standard {
			secret.Standard(o.Log)
		}
	}
	links := &links{}
	platform, err := local.Open(o.Data, local.Options{Activities: kinds, Secrets: vault, Links: links, Committed: o.Committed, Trouble: o.Trouble, Log: o.Log})
	if err != nil {
		return nil, err
	}
	key, err := keyOf(o.Data)
	if err != nil {
		return nil, errors.Join(err, platform.Store.Close())
	}
	links.tokens.Key = key
	listener, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("node: listen: %w", err), platform.Store.Close())
	}
	n := &Node{Platform: platform, URL: "http://" + listener.Addr().String(), Kinds: kinds, Secrets: o.Project.SecretNames, data: o.Data, listener: listener}
	links.base = n.URL
	a := &api.Server{Worker: platform.Worker, Ask: platform.Ask, Watch: platform.Watch, Tenant: Tenant, Tokens: links.get, Kinds: kinds, Secrets: n.Secrets, Log: o.Log}
	n.server = &http.Server{Handler: local.OnlyFromHere(a.Handler()), ReadHeaderTimeout: 10 * time.Second}
	if o.Log != nil {
		n.server.ErrorLog = slog.NewLogLogger(o.Log.Handler(), slog.LevelError)
	}
	return n, nil
}

// onlyHere refuses addresses that other machines reach: whoever reaches the API may deploy a workflow, and a workflow may run programs.
func onlyHere(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("node: listen: %w: write 127.0.0.1:7233", err)
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("node: %s can be reached from other machines, and the API asks nobody who he is: listen on 127.0.0.1, and let a proxy with authorization stand before it", address)
}

// Run serves and works until ctx ends, then lets what runs finish its step, for at most grace.
func (n *Node) Run(ctx context.Context, grace time.Duration) error {
	file := filepath.Join(n.data, addressFile)
	text, err := json.Marshal(address{URL: n.URL, PID: os.Getpid()})
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("node: %w", err), n.Store.Close())
	}
	defer os.Remove(file)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- n.server.Serve(n.listener) }()
	stop := context.AfterFunc(ctx, func() {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = n.server.Shutdown(late) // those who still wait for an execution are cut off
		_ = n.server.Close()
	})
	defer stop()
	err = n.Platform.Run(ctx, grace)
	cancel() // the platform may have ended by itself
	if serveErr := <-served; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	return err
}

// Find returns the address of the node that has a data folder open, or "" if there is none that answers.
func Find(ctx context.Context, data string) (string, error) {
	text, err := os.ReadFile(filepath.Join(data, addressFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("node: %w", err)
	}
	var a address
	if json.Unmarshal(text, &a) != nil {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL+"/v1/health", nil)
	if err != nil {
		return "", nil
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", nil // it was killed, and its file is left
	}
	return a.URL, res.Body.Close()
}
