package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/wovyr/wovyr/pkg/aws/stack"
)

func newUnpublished(env Environment) *cobra.Command {
	c := &cobra.Command{
		Use: "unpublished", Short: "Look after changes that the publisher of a stack could not publish",
		Long: `On AWS a function, the publisher, derives lists and events from the histories. What it
cannot get done after many tries goes to a queue (the alarm Unpublished), and the
changes behind it go on. No execution waits for that, except those that wait for an
event of such a change.

Once an hour the publisher tries by itself again; after its cause is mended, such as by
a deployment, replay lets it try at once. The commits are read again from the
histories; whoever gets an event twice can tell by its version.

It takes the right lambda:InvokeFunction on the publisher of the stack.`,
		Example: `  wovyr unpublished list --stack wovyr
  wovyr unpublished replay --stack wovyr`,
	}
	c.AddCommand(newUnpublishedCommand(env, true), newUnpublishedCommand(env, false))
	return c
}

func newUnpublishedCommand(env Environment, look bool) *cobra.Command {
	r := &remote{env: env}
	c := &cobra.Command{
		Use: "replay", Short: "Publish them again", Args: cobra.NoArgs,
		Long: `Lets the publisher try all of them again. What fails again stays, and is listed with its
cause; then the exit code is 1.`,
		Example: "  wovyr unpublished replay --stack wovyr",
		RunE:    func(c *cobra.Command, _ []string) error { return r.replay(c.Context(), look) },
	}
	if look {
		c.Use, c.Short, c.Example = "list", "List them, with the cause of each", "  wovyr unpublished list --stack wovyr"
		c.Long = "Lists the commits that are not published. Nothing is changed."
	}
	r.stackFlag(c)
	outputFlag(c, &r.output, formats)
	return c
}

func (r *remote) replay(ctx context.Context, look bool) error {
	s, err := r.onlyStack(ctx)
	if err != nil {
		return err
	}
	all := stack.Replayed{Kept: []stack.Unpublished{}}
	for all.More = true; all.More; {
		part, err := s.Replay(ctx, look)
		if err != nil {
			return err
		}
		all.Messages, all.Published, all.Gone = all.Messages+part.Messages, all.Published+part.Published, all.Gone+part.Gone
		all.Kept, all.More = append(all.Kept, part.Kept...), part.More && part.Messages > 0
	}
	if err := r.print(all, func(w io.Writer) error { return writeUnpublished(w, all.Kept) }); err != nil {
		return err
	}
	if r.output == formats[0] {
		r.sayReplayed(all, look)
	}
	if !look && len(all.Kept) > 0 {
		return errNotCompleted
	}
	return nil
}

func writeUnpublished(w io.Writer, list []stack.Unpublished) error {
	if len(list) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(w, "EXECUTION\tVERSION\tCAUSE"); err != nil {
		return err
	}
	for _, u := range list {
		execution, version := u.Execution, fmt.Sprint(u.Version)
		if execution == "" {
			execution, version = "(not known)", ""
		}
		cause := clip(visible(u.Cause), 160)
		if u.Since != "" {
			cause += fmt.Sprintf(" [%s to %s]", u.Since, u.Until)
		}
		if _, err := fmt.Fprintf(w, "%s\t%s\t%s\n", execution, version, cause); err != nil {
			return err
		}
	}
	return nil
}

// sayReplayed says on standard error what came of it.
func (r *remote) sayReplayed(all stack.Replayed, look bool) {
	switch {
	case all.Messages == 0:
		fmt.Fprintln(r.env.Err, "Everything is published. (What was looked at in the last two minutes is hidden that long.)")
	case look:
		fmt.Fprintf(r.env.Err, "%s not published. After the cause is mended: %s unpublished replay%s\n", counted(len(all.Kept), "commit"), program(), r.sameServer())
	default:
		fmt.Fprintf(r.env.Err, "Published %s, %d kept, %d of executions that are gone.\n", counted(all.Published, "commit"), len(all.Kept), all.Gone)
	}
}
