package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/node"
	"github.com/wovyr/wovyr/pkg/project"
)

// remote is what commands that speak to a server share.
type remote struct {
	env    Environment
	server string
	data   string
	output string
}

// flags adds --server and --data to a command.
func (r *remote) flags(c *cobra.Command) {
	c.Flags().StringVar(&r.server, "server", os.Getenv("WOVYR_SERVER"), "address of the server (default WOVYR_SERVER, else the one that has --data open)")
	c.Flags().StringVar(&r.data, "data", "", "folder of a store on this machine (default that of wovyr.yaml, or .wovyr)")
}

// sameServer are the flags by which another command finds the same server.
func (r *remote) sameServer() string {
	flags := dataFlag(r.data)
	if r.server != "" && r.server != os.Getenv("WOVYR_SERVER") {
		flags = " --server " + r.server + flags
	}
	return flags
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
	if r.server != "" {
		at, err := serverAddress(r.server)
		return &client.Client{Server: at, Token: os.Getenv("WOVYR_TOKEN")}, err // for the server that was named, and no other
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
		return nil, fmt.Errorf("%w for %s: start one with `wovyr dev`, or name one with --server", client.ErrUnreachable, folder)
	}
	return &client.Client{Server: at}, nil
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

// reader is client, or a view into the store itself where no server has it open.
func (r *remote) reader(ctx context.Context) (reader, func() error, error) {
	c, err := r.client(ctx)
	if err == nil {
		return c, func() error { return nil }, nil
	}
	if !errors.Is(err, client.ErrUnreachable) {
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
