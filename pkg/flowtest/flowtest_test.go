package flowtest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity/script"
	"github.com/wovyr/wovyr/pkg/dsl"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run the test with -update to write it")
	require.Equal(t, string(want), got, "%s differs; run the test with -update if that is right", file)
}

func suites(t *testing.T, dir string) []string {
	files := suitesOf(dir)
	require.NotEmpty(t, files)
	return files
}

func suitesOf(dir string) []string {
	files, _ := filepath.Glob("testdata/" + dir + "/*.test.yaml") // fails only for a bad pattern
	return files
}

func load(t *testing.T, file string) *Suite {
	s, found := Load(file, os.ReadFile)
	require.NotNil(t, s, "%v", found)
	s.Scripts = scripts
	return s
}

// scripts runs those of all suites: what it needs is compiled once.
var scripts = script.New(script.Options{}).Activity

// TestGoodSuites runs suites that use each word of test files; all of them pass.
func TestGoodSuites(t *testing.T) {
	for _, file := range append(suites(t, "good"), "../../examples/order-fulfilment.test.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			r := load(t, file).Run(nil)
			if !r.Passed() {
				var b strings.Builder
				require.NoError(t, WriteText(&b, []*Result{r}, false))
				t.Error(b.String())
			}
		})
	}
}

// TestReports pins what people and machines read of suites that fail.
func TestReports(t *testing.T) {
	for _, file := range suites(t, "bad") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			r := load(t, file).Run(nil)
			var text, junit strings.Builder
			for _, c := range r.Cases {
				require.NotEmpty(t, c.Failures, c.Name)
			}
			require.NoError(t, WriteText(&text, []*Result{r}, false))
			require.NoError(t, WriteCoverage(&text, r.Coverage))
			require.NoError(t, WriteJUnit(&junit, []*Result{r}))
			golden(t, strings.TrimSuffix(file, ".yaml")+".golden.txt", text.String())
			golden(t, strings.TrimSuffix(file, ".yaml")+".golden.xml", junit.String())
		})
	}
}

// TestRefusedSuites pins what is said about test files that cannot be run: all of it at once, with places and what to write.
func TestRefusedSuites(t *testing.T) {
	for _, file := range suites(t, "refused") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			s, found := Load(file, os.ReadFile)
			require.Nil(t, s)
			require.NotEmpty(t, found)
			var b strings.Builder
			for _, d := range found {
				data, err := os.ReadFile(d.File)
				require.NoError(t, err)
				require.NoError(t, dsl.Render(&b, []dsl.Diagnostic{d}, data))
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".golden.txt", b.String())
		})
	}
}

// TestScripts: what a script says is told, one that never ends is over with its step's timeout, and without an interpreter a script
// needs a mock.
func TestScripts(t *testing.T) {
	files := map[string]string{
		"loop.yaml": `
dsl: wovyr/v1
name: loop
steps:
  say: { script: { js: 'console.warn("six times", 7); return 42' } }
  spin: { needs: [ say ], script: { js: 'for (;;);' }, timeout: 50ms, retry: { attempts: 2, delay: 1h } }
`,
		"loop.test.yaml": `
tests:
  a loop without end:
    expect: { status: Failed, error: { code: timeout.activity }, steps: { spin: { attempts: 2 } }, took: 1h100ms }
`,
	}
	suite, found := Load("loop.test.yaml", func(name string) ([]byte, error) { return []byte(files[name]), nil })
	require.NotNil(t, suite, "%v", found)
	r := suite.Run(nil)
	require.False(t, r.Passed())
	require.Contains(t, r.Cases[0].Failures[0].Message, "no mock answers")
	suite.Scripts = scripts
	r = suite.Run(nil)
	require.True(t, r.Passed(), "%v", r.Cases[0])
	require.Contains(t, r.Cases[0].Trace, "     +0s  say says: six times 7")
}

// TestSameResultEachTime: equal suites have equal results.
func TestSameResultEachTime(t *testing.T) {
	for _, file := range suites(t, "good") {
		s := load(t, file)
		require.Equal(t, s.Run(nil), s.Run(nil), file)
	}
}
