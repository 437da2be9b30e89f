package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wovyr/wovyr/pkg/graph"
)

type draw struct {
	env    Environment
	output string
	write  string
}

func newGraph(env Environment) *cobra.Command {
	d := &draw{env: env}
	c := &cobra.Command{
		Use:   "graph FILE",
		Short: "Draw a workflow",
		Long: `Draws a workflow: steps as shapes by what they do, bodies (foreach, loop, race,
group) as boxes around their steps, and

  a line            from a step to one that needs it, with the end that it
                    waits for where that is not the usual one
  a dashed line     to a step that only reads its output in an expression
  a labelled line   from a switch, a match or an on_error to the steps it picks

A FILE of - is standard input. The same document always gives the same picture,
so that it can be kept beside the document and compared.

Formats: mermaid (for Markdown), dot (for Graphviz), svg (for browsers).`,
		Example: `  wovyr graph order.yaml
  wovyr graph order.yaml -o svg > order.svg
  wovyr graph order.yaml -w order.svg
  wovyr graph order.yaml -o dot | dot -Tpdf > order.pdf`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("name one file, or - for standard input; there are %d", len(args))
			}
			return nil
		},
		ValidArgsFunction: documents,
		RunE: func(c *cobra.Command, args []string) error {
			if !c.Flags().Changed("output") {
				d.output = formatOf(d.write)
			}
			return d.run(args[0])
		},
	}
	outputFlag(c, &d.output, []string{"mermaid", "dot", "svg"})
	c.Flags().StringVarP(&d.write, "write", "w", "", "write to this `file`; its ending says the format where --output does not")
	return c
}

// formatOf guesses the format from a file's ending.
func formatOf(file string) string {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".svg":
		return "svg"
	case ".dot", ".gv":
		return "dot"
	}
	return "mermaid"
}

func (d *draw) run(name string) error {
	doc := open(d.env, name)
	if doc.definition == nil {
		if err := printDiagnostics(d.env.Err, doc, false); err != nil {
			return failure{err}
		}
		return errRefused
	}
	g := graph.Of(doc.definition)
	picture := map[string]func() string{"mermaid": g.Mermaid, "dot": g.DOT, "svg": g.SVG}[d.output]()
	if d.write != "" {
		if err := os.WriteFile(d.write, []byte(picture), 0o644); err != nil {
			return failure{fmt.Errorf("the picture cannot be written: %w", err)}
		}
		return nil
	}
	if _, err := io.WriteString(d.env.Out, picture); err != nil {
		return failure{err}
	}
	return nil
}
