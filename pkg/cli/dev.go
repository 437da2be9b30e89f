package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/wovyr/wovyr/pkg/node"
	"github.com/wovyr/wovyr/pkg/project"
)

type dev struct {
	env    Environment
	data   string
	listen string
	grace  time.Duration
}

func newDev(env Environment) *cobra.Command {
	d := &dev{env: env}
	c := &cobra.Command{
		Use:   "dev [FILE...]",
		Short: "Serve workflows on this machine: API, workers and timers in one process",
		Long: `Runs the whole engine in one process, on a store in a folder: the HTTP API, the
workers and the timers. Documents given are deployed first. What was open when
the last process ended goes on.

The API answers to this machine only. Other commands find it by themselves when
they are run in the same folder; from elsewhere, give them --server.`,
		Example: `  wovyr dev
  wovyr dev workflows/*.yaml --listen 127.0.0.1:8080 --data /var/lib/wovyr`,
		ValidArgsFunction: documents,
		RunE:              func(c *cobra.Command, args []string) error { return d.run(c.Context(), args) },
	}
	c.Flags().StringVar(&d.data, "data", "", "folder of the store (default that of wovyr.yaml, or .wovyr)")
	c.Flags().StringVar(&d.listen, "listen", "", "address of the API (default that of wovyr.yaml, or "+project.DefaultListen+")")
	c.Flags().DurationVar(&d.grace, "grace", 10*time.Second, "how long running steps may go on after Ctrl-C")
	return c
}

func (d *dev) run(ctx context.Context, files []string) error {
	docs, err := compileAll(d.env, files)
	if err != nil {
		return err
	}
	proj, err := project.Load(".")
	if err != nil {
		return err
	}
	if d.listen == "" {
		d.listen = proj.Listen
	}
	ctx, stop := interruptible(ctx, d.env.Err, d.grace)
	defer stop()
	n, err := openNode(ctx, node.Options{Project: proj, Data: d.data, Functions: d.env.Functions, Listen: d.listen, Trouble: trouble(d.env), Log: quietLog(d.env.Err), Standard: d.env.Standard})
	if err != nil {
		return err
	}
	for _, doc := range docs {
		missing, err := absent(ctx, doc, n.Kinds, n.Secrets)
		if err != nil {
			return err
		}
		warnAbsent(d.env, doc, missing)
		deployed, fresh, err := n.Worker.Deploy(ctx, node.Tenant, doc.definition)
		if err != nil {
			return ofStore(err)
		}
		fmt.Fprintf(d.env.Err, "%s: %s\n", doc.file, deployedAs(deployed.Workflow, deployed.Version, fresh))
		tellHooks(d.env.Err, n.URL, doc.definition.Webhooks())
	}
	fmt.Fprintf(d.env.Err, "Serving at %s (Ctrl-C ends it; everything is kept)\n", n.URL)
	if err := n.Run(ctx, d.grace); err != nil {
		return failure{err}
	}
	return errInterrupted
}

func deployedAs(name string, version uint64, fresh bool) string {
	if fresh {
		return fmt.Sprintf("deployed as %s version %d", name, version)
	}
	return fmt.Sprintf("is %s version %d already", name, version)
}
