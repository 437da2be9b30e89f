package cli

import (
	"fmt"
	"io"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/wovyr/wovyr/pkg/client"
)

func newDeadLetters(env Environment) *cobra.Command {
	c := &cobra.Command{
		Use: "deadletters", Short: "Look after messages that could not be handled", Aliases: []string{"deadletter"},
		Long: `A message that an execution refuses, or whose handling fails again and again, is put
aside with its cause, so that it holds up nothing else. Two kinds of codes tell them
apart: refused.… can never be right as things stand, such as a signal to an execution
that is gone; failing.… may be, once its cause is removed.`,
		Example: `  wovyr deadletters list
  wovyr deadletters show 7RQP…
  wovyr deadletters redrive 7RQP…
  wovyr deadletters drop 7RQP… --reason 'sent twice by mistake'`,
	}
	c.AddCommand(newLetterList(env), newLetterShow(env), newLetterRedrive(env), newLetterDrop(env))
	return c
}

func newLetterList(env Environment) *cobra.Command {
	r := &remote{env: env}
	c := &cobra.Command{
		Use: "list", Short: "List them, newest first", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			from, done, err := r.reader(c.Context())
			if err != nil {
				return err
			}
			defer done()
			letters := []client.DeadLetter{}
			for query := (url.Values{}); ; {
				page, err := from.DeadLetters(c.Context(), query)
				if err != nil {
					return err
				}
				letters = append(letters, page.Items...)
				if page.Next == "" {
					break
				}
				query.Set("cursor", page.Next)
			}
			if len(letters) == 0 && r.output == formats[0] {
				fmt.Fprintln(env.Err, "No dead letters.")
			}
			return r.print(letters, func(w io.Writer) error {
				if len(letters) > 0 {
					if _, err := fmt.Fprintln(w, "LETTER\tAT\tEXECUTION\tCODE\tCAUSE"); err != nil {
						return err
					}
				}
				for _, d := range letters {
					if _, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", d.ID, stamp(d.At), d.Execution, d.Code, clip(d.Cause, 100)); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	r.flags(c)
	outputFlag(c, &r.output, formats)
	return c
}

func newLetterShow(env Environment) *cobra.Command {
	r := &remote{env: env}
	c := &cobra.Command{
		Use: "show LETTER", Short: "Show one, with its message", Args: cobra.ExactArgs(1), Example: "  wovyr deadletters show 7RQP…",
		RunE: func(c *cobra.Command, args []string) error {
			from, done, err := r.reader(c.Context())
			if err != nil {
				return err
			}
			defer done()
			d, err := from.DeadLetter(c.Context(), args[0])
			if err != nil {
				return err
			}
			return r.print(d, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "letter\t%s\nat\t%s\nexecution\t%s\nqueue\t%s\ncode\t%s\ncause\t%s\nmessage\t%s\n", d.ID, stamp(d.At), d.Execution, d.Queue, d.Code, d.Cause, d.Message)
				return err
			})
		},
	}
	r.flags(c)
	outputFlag(c, &r.output, formats)
	return c
}

func newLetterRedrive(env Environment) *cobra.Command {
	r := &remote{env: env}
	c := &cobra.Command{
		Use: "redrive LETTER", Short: "Let one be handled again", Args: cobra.ExactArgs(1), Example: "  wovyr deadletters redrive 7RQP…",
		Long: `Sends the message again, and removes the letter. One that its execution would refuse
again is refused here and stays; one that fails again later becomes a new letter.`,
		RunE: func(c *cobra.Command, args []string) error {
			to, err := r.client(c.Context())
			if err != nil {
				return err
			}
			return r.done(to.RedriveLetter(c.Context(), args[0], client.LetterMove{By: user()}), "Sent the message of %s again", args[0])
		},
	}
	r.flags(c)
	return c
}

func newLetterDrop(env Environment) *cobra.Command {
	r := &remote{env: env}
	var reason string
	c := &cobra.Command{
		Use: "drop LETTER --reason TEXT", Short: "Remove one for good", Args: cobra.ExactArgs(1), Example: "  wovyr deadletters drop 7RQP… --reason 'sent twice by mistake'",
		RunE: func(c *cobra.Command, args []string) error {
			if reason == "" {
				return misuse{fmt.Errorf("a letter that is dropped is gone for good: say why with --reason")}
			}
			to, err := r.client(c.Context())
			if err != nil {
				return err
			}
			return r.done(to.DropLetter(c.Context(), args[0], client.LetterMove{Reason: reason, By: user()}), "Dropped %s", args[0])
		},
	}
	r.flags(c)
	c.Flags().StringVar(&reason, "reason", "", "why, for the server's log")
	return c
}
