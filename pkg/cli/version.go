package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/wovyr/wovyr/pkg/workflow"
)

func newVersion(env Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this tool and of what it reads",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if _, err := io.WriteString(env.Out, versionText()); err != nil {
				return failure{err}
			}
			return nil
		},
	}
}

// versionText is what `wovyr version` and `wovyr --version` print.
func versionText() string {
	version, commit := built(debug.ReadBuildInfo())
	return fmt.Sprintf("wovyr     %s\ncommit    %s\nlanguage  wovyr/v1\nformat    %d\ngo        %s %s/%s\n",
		version, commit, workflow.FormatV1, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// built reads from the binary what it was built from.
func built(info *debug.BuildInfo, ok bool) (version, commit string) {
	version, commit = "unknown", "unknown"
	if !ok {
		return version, commit
	}
	version = info.Main.Version
	changed := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = ", changed"
		}
	}
	return version, commit + changed
}
