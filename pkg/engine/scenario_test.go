package engine_test

import (
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write what comes out of scenarios and other golden files anew")

// TestScenarios tells the stories of testdata/scenarios: each directive goes in, and exactly what the file says comes out.
// Every decision is held to the laws of laws_test.go. Read the diff before you commit one written by -update.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			s, err := readScript(file)
			require.NoError(t, err)
			got, _ := tell(t, s)
			if *update && !t.Failed() {
				require.NoError(t, s.write(got))
			}
		})
	}
}

// tell tells one story and returns what came out of each directive, and the world at its end.
func tell(t *testing.T, s *script) ([]string, *world) {
	w := newWorld()
	got := make([]string, len(s.directives))
	for i := range s.directives {
		d := &s.directives[i]
		out, err := w.carry(d)
		require.NoError(t, err, "%s:%d: %s\n%s", s.file, d.line, d.text, out)
		if out != "" {
			out += "\n"
		}
		got[i] = out
		if !*update {
			require.Equal(t, d.want, out, "%s:%d: %s", s.file, d.line, d.text)
		}
	}
	return got, w
}
