package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// plainArguments lets a command and all below it say in the words of its usage line what arguments it takes, and lets those that are only a
// name for others refuse names that they do not have.
func plainArguments(c *cobra.Command) {
	for _, sub := range c.Commands() {
		plainArguments(sub)
	}
	switch {
	case c.Name() == "help" && c.HasParent():
		c.Run, c.RunE = nil, help
	case c.HasSubCommands():
		c.Args = oneOfThem
		if !c.Runnable() {
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	case c.Args != nil:
		check := c.Args
		c.Args = func(c *cobra.Command, args []string) error {
			err := check(c, args)
			if err == nil || !strings.Contains(err.Error(), "arg(s)") && !strings.HasPrefix(err.Error(), "unknown command") {
				return err
			}
			return fmt.Errorf("%s, and %s given", takes(c), given(args))
		}
	}
}

// takes says what arguments a command takes.
func takes(c *cobra.Command) string {
	operands, _, _ := strings.Cut(c.Use, " --")
	_, operands, ok := strings.Cut(operands, " ")
	if !ok {
		return "it takes no arguments"
	}
	return "it takes " + operands
}

func given(args []string) string {
	switch len(args) {
	case 0:
		return "nothing was"
	case 1:
		return fmt.Sprintf("%q was", args[0])
	}
	return fmt.Sprintf("%d arguments were", len(args))
}

// oneOfThem refuses a name that a command does not have among those below it.
func oneOfThem(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	c.SuggestionsMinimumDistance = 2
	what := "it has " + strings.Join(names, ", ")
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		what = fmt.Sprintf("did you mean %s?", alternatives(near))
	}
	return fmt.Errorf("%s has no command %q: %s", c.CommandPath(), args[0], what)
}

// help shows the help of a command that is named, and refuses one that is not there.
func help(c *cobra.Command, args []string) error {
	of, rest, err := c.Root().Find(args)
	if err != nil || len(rest) > 0 && of.HasSubCommands() {
		return misuse{fmt.Errorf("there is no command %q", strings.Join(args, " "))}
	}
	of.InitDefaultHelpFlag()
	return of.Help()
}
