package graph_test

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/graph"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

// corpus is the valid part of the golden corpus of the language.
const corpus = "../dsl/testdata/valid"

func graphOf(t *testing.T, file string) *graph.Graph {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	def, diagnostics := dsl.Compile(filepath.Base(file), data)
	require.NotNil(t, def, diagnostics)
	return graph.Of(def)
}

func TestGoldenPictures(t *testing.T) {
	for _, name := range []string{
		"order-fulfilment", // the example of the language page
		"refund",           // a switch
		"incident-response",
		"nested-bodies", // four bodies inside each other
		"needs-ends",    // labelled needs
		"handlers",      // on_error
		"races",
		"dead-paths",
	} {
		g := graphOf(t, filepath.Join(corpus, name+".yaml"))
		for ending, picture := range map[string]string{"mmd": g.Mermaid(), "dot": g.DOT(), "svg": g.SVG()} {
			t.Run(name+"."+ending, func(t *testing.T) {
				file := filepath.Join("testdata", name+"."+ending)
				if *update {
					require.NoError(t, os.WriteFile(file, []byte(picture), 0o644))
				}
				want, err := os.ReadFile(file)
				require.NoError(t, err, "run the test with -update to write it")
				require.Equal(t, string(want), picture, "%s differs; run the test with -update if that is right", file)
			})
		}
	}
}

// TestWholeCorpus draws every valid document: each step stands in each picture, each picture is the same the second
// time, and the SVG is XML.
func TestWholeCorpus(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpus, "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			g := graphOf(t, file)
			svg, dot, mermaid := g.SVG(), g.DOT(), g.Mermaid()
			again := graphOf(t, file)
			require.Equal(t, svg, again.SVG())
			require.Equal(t, dot, again.DOT())
			require.Equal(t, mermaid, again.Mermaid())
			for _, id := range append(ids(g.Body), ids(g.Exit)...) {
				require.Contains(t, svg, `data-step="`+id+`"`)
				require.Regexp(t, `"(cluster )?`+id+`"`, dot)
				require.Contains(t, mermaid, "n."+strings.ReplaceAll(id, "/", "."))
			}
			requireXML(t, svg)
		})
	}
}

func ids(b graph.Body) (all []string) {
	for _, n := range b.Nodes {
		all = append(all, n.ID)
		for _, c := range n.Clusters {
			all = append(all, ids(c.Body)...)
		}
	}
	return all
}

func requireXML(t *testing.T, svg string) {
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}
