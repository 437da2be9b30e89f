package cli

import (
	"github.com/spf13/cobra"

	"github.com/wovyr/wovyr/pkg/dsl"
)

func newSchema(env Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the language",
		Long: `Prints the JSON Schema (2020-12) of the workflow language. With it, editors
complete words, explain them and mark mistakes while you type; "wovyr validate"
checks more than a schema can say.

Editors that use the YAML language server find the schema by a first line in the
document:

  # yaml-language-server: $schema=wovyr.schema.json`,
		Example: `  wovyr schema > wovyr.schema.json`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if _, err := env.Out.Write(dsl.Schema()); err != nil {
				return failure{err}
			}
			return nil
		},
	}
}
