package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// outputFlag adds -o, which takes one of some formats; the first is the default.
func outputFlag(c *cobra.Command, to *string, formats []string) {
	c.Flags().VarP(&format{to, formats}, "output", "o", "write "+alternatives(formats))
	*to = formats[0]
	c.Flags().Lookup("output").DefValue = formats[0]
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)) // fails only for a flag that is not there
}

// format is a flag's value that must be one of a few words.
type format struct {
	to      *string
	formats []string
}

func (f *format) String() string {
	if f.to == nil {
		return ""
	}
	return *f.to
}

func (f *format) Type() string { return "format" }

func (f *format) Set(s string) error {
	if !slices.Contains(f.formats, s) {
		return fmt.Errorf("write %s", alternatives(f.formats))
	}
	*f.to = s
	return nil
}

func alternatives(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// documents completes file names.
func documents(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
}

// oneInput refuses to read standard input twice.
func oneInput(args []string) error {
	if first := slices.Index(args, "-"); first >= 0 && slices.Contains(args[first+1:], "-") {
		return fmt.Errorf("- stands twice, but standard input can be read only once")
	}
	return nil
}
