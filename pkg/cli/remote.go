package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wovyr/wovyr/pkg/aws/connect"
	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/node"
	"github.com/wovyr/wovyr/pkg/project"
)

// remote is what commands that speak to a server share. A server is named by its address, by the stack that it is deployed as, or by the data
// folder that it has open.
type remote struct {
	env    Environment
	server string
	stack  string
	data   string
	output string

	command *cobra.Command
}

// Variables that name a server where no flag does.
const (
	envServer = "WOVYR_SERVER"
	envStack  = "WOVYR_STACK"
	envToken  = "WOVYR_TOKEN"
)

// flags adds --server, --stack and --data to a command.
func (r *remote) flags(c *cobra.Command) {
	r.command = c
	c.Flags().StringVar(&r.server, "server", "", "address of the server (default WOVYR_SERVER, else the one that has --data open)")
	r.stackFlag(c)
	c.Flags().StringVar(&r.data, "data", "", "folder of a store on this machine (default that of wovyr.yaml, or .wovyr)")
}

// stackFlag adds --stack alone, for commands that are about AWS only.
func (r *remote) stackFlag(c *cobra.Command) {
	r.command = c
	c.Flags().StringVar(&r.stack, "stack", "", "name of the stack on AWS (default WOVYR_STACK); region and identity as for the AWS command line")
}

// settle says which one of server, stack and folder is meant: what a flag names, else what the environment names.
func (r *remote) settle() error {
	var named []string
	for _, flag := range []string{"server", "stack", "data"} {
		if r.command != nil && r.command.Flags().Changed(flag) {
			named = append(named, "--"+flag)
		}
	}
	switch {
	case len(named) > 1:
		return misuse{fmt.Errorf("%s each name a server: give one of them", strings.Join(named, " and "))}
	case len(named) == 1 || r.server != "" || r.stack != "":
		return nil
	}
	if r.server, r.stack = os.Getenv(envServer), os.Getenv(envStack); r.server != "" && r.stack != "" {
		return misuse{fmt.Errorf("%s and %s are both set: give --server, --stack or --data, or unset one", envServer, envStack)}
	}
	return nil
}

// sameServer are the flags by which another command finds the same server.
func (r *remote) sameServer() string {
	switch {
	case r.server != "" && r.server != os.Getenv(envServer):
		return " --server " + r.server
	case r.stack != "" && r.stack != os.Getenv(envStack):
		return " --stack " + r.stack
	}
	return dataFlag(r.data)
}

// deployment finds the stack that is meant.
func (r *remote) deployment(ctx context.Context) (*connect.Stack, error) {
	cfg, err := connect.Load(ctx)
	if err != nil {
		return nil, err
	}
	return connect.Find(ctx, cfg, r.stack)
}

// checkData finds the data of an event that stands in the flag of the folder.
func (r *remote) checkData() error {
	if strings.HasPrefix(r.data, "{") || strings.HasPrefix(r.data, "[") || strings.HasPrefix(r.data, "@") {
		return misuse{errors.New("--data is the store's folder; the event's data is --json-data")}
	}
	return nil
}

// folder is the data folder that is meant.
func (r *remote) folder() (string, error) {
	if r.data != "" {
		return r.data, nil
	}
	p, err := project.Load(".")
	if err != nil {
		return "", err
	}
	return p.Data, nil
}

// client finds the server: the one named, else the one that has the data folder open, else the one at the project's address.
func (r *remote) client(ctx context.Context) (*client.Client, error) {
	if err := r.settle(); err != nil {
		return nil, err
	}
	switch {
	case r.server != "":
		at, err := serverAddress(r.server)
		return &client.Client{Server: at, Token: os.Getenv(envToken)}, err // for the server that was named, and no other
	case r.stack != "":
		s, err := r.deployment(ctx)
		if err != nil {
			return nil, err
		}
		return s.Client(os.Getenv(envToken))
	}
	folder, err := r.folder()
	if err != nil {
		return nil, err
	}
	at, err := node.Find(ctx, folder)
	if err != nil {
		return nil, err
	}
	if at == "" {
		return nil, fmt.Errorf("%w for %s: start one with `wovyr dev`, or name one with --server or --stack", client.ErrUnreachable, folder)
	}
	return &client.Client{Server: at}, nil
}

// onlyStack finds the stack that is meant, for commands that are about AWS alone.
func (r *remote) onlyStack(ctx context.Context) (*connect.Stack, error) {
	if r.stack == "" {
		r.stack = os.Getenv(envStack)
	}
	if r.stack == "" {
		return nil, misuse{errors.New("it is about a deployment on AWS: name its stack with --stack")}
	}
	return r.deployment(ctx)
}

// serverAddress is the address of a server as people write it: without a scheme it is http.
func serverAddress(text string) (string, error) {
	at := text
	if !strings.Contains(at, "://") {
		at = "http://" + at
	}
	u, err := url.Parse(at)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" {
		return "", misuse{fmt.Errorf("%q is no address of a server: write --server http://%s", text, project.DefaultListen)}
	}
	return at, nil
}

// done says on standard error that the server took what it was asked for, unless there is an error.
func (r *remote) done(err error, format string, args ...any) error {
	if err == nil {
		fmt.Fprintf(r.env.Err, format+".\n", args...)
	}
	return err
}

// reader is client, or a view into the store itself where no server has it open.
func (r *remote) reader(ctx context.Context) (reader, func() error, error) {
	c, err := r.client(ctx)
	if err == nil {
		return c, func() error { return nil }, nil
	}
	if !errors.Is(err, client.ErrUnreachable) || r.server != "" || r.stack != "" {
		return nil, nil, err
	}
	folder, folderErr := r.folder()
	if folderErr != nil {
		return nil, nil, folderErr
	}
	if _, missing := os.Stat(folder); missing != nil {
		return nil, nil, fmt.Errorf("%w (and there is no store in %s to read)", err, folder)
	}
	s, err := node.OpenStore(folder)
	if err != nil {
		return nil, nil, err
	}
	return s, s.Close, nil
}
