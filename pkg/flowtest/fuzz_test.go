package flowtest

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzLoad: no test file brings the loader down; what is refused is refused with a place and a message, and what is accepted can be
// run.
func FuzzLoad(f *testing.F) {
	for _, dir := range []string{"good", "bad", "refused"} {
		for _, file := range suitesOf(dir) {
			data, err := os.ReadFile(file)
			require.NoError(f, err)
			f.Add(data)
		}
	}
	flow, err := os.ReadFile("testdata/good/repair.yaml")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, found := Load("repair.test.yaml", func(name string) ([]byte, error) {
			switch name {
			case "repair.test.yaml":
				return data, nil
			case "repair.yaml":
				return flow, nil
			}
			return nil, os.ErrNotExist
		})
		if s == nil {
			require.NotEmpty(t, found)
			for _, d := range found {
				require.NotEmpty(t, d.Message)
				require.Positive(t, d.Line)
			}
			return
		}
		if len(s.Cases) > 3 {
			s.Cases = s.Cases[:3]
		}
		s.Run(nil)
	})
}
