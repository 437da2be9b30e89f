package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/script"
	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/flowtest"
)

type test struct {
	env      Environment
	run      string
	junit    string
	coverage bool
	verbose  bool
	scripts  activity.Activity
}

func newTest(env Environment) *cobra.Command {
	t := &test{env: env, scripts: script.New(script.Options{Dir: "."}).Activity}
	c := &cobra.Command{
		Use:   "test FILE...",
		Short: "Run unit tests of workflows",
		Long: `Runs tests of workflows. A test file stands beside the workflow that it tests:
order.test.yaml tests order.yaml. It mocks activities, says what comes from
outside and when, and what is expected. Nothing is called and nobody waits: the
engine runs in virtual time. A script that no mock answers is run, modules from
this folder: it can reach nothing.

A FILE that is a folder stands for all files in it and below whose names end in
.test.yaml, .test.yml or .test.json.

What test files hold: docs/testing.md.`,
		Example: `  wovyr test order.test.yaml
  wovyr test --run 'declined' --verbose order.test.yaml
  wovyr test --coverage --junit report.xml workflows/`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("name at least one test file or folder")
			}
			return nil
		},
		ValidArgsFunction: documents,
		RunE:              func(_ *cobra.Command, args []string) error { return t.runAll(args) },
	}
	c.Flags().StringVar(&t.run, "run", "", "run only tests whose name matches this `pattern` (a regular expression)")
	c.Flags().StringVar(&t.junit, "junit", "", "write the results to this `file`, as JUnit XML")
	c.Flags().BoolVar(&t.coverage, "coverage", false, "show which steps and branches no test went through")
	c.Flags().BoolVarP(&t.verbose, "verbose", "v", false, "tell what happened in tests that pass, too")
	return c
}

func (t *test) runAll(args []string) error {
	pattern, err := regexp.Compile(t.run)
	if err != nil {
		return misuse{fmt.Errorf("--run: %w", err)}
	}
	files, err := testFiles(args)
	if err != nil {
		return err
	}
	var results []*flowtest.Result
	refused := false
	for _, file := range files {
		suite, err := t.load(file)
		if err != nil {
			return failure{err}
		}
		if suite == nil {
			refused = true
			continue
		}
		results = append(results, suite.Run(pattern.MatchString))
	}
	return t.report(results, refused)
}

// load reads one test file. What is wrong with it goes to standard error; then the suite is nil.
func (t *test) load(file string) (*flowtest.Suite, error) {
	read := map[string][]byte{}
	suite, found := flowtest.Load(filepath.ToSlash(file), func(name string) ([]byte, error) {
		data, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			return nil, errors.New(cause(err))
		}
		read[name] = data
		return data, nil
	})
	for _, d := range found {
		if err := printDiagnostics(t.env.Err, document{data: read[d.File], diagnostics: []dsl.Diagnostic{d}}, false); err != nil {
			return nil, err
		}
	}
	if suite != nil {
		suite.Scripts = t.scripts
	}
	return suite, nil
}

// report writes the results where they are wanted, and says by its error how the command ends.
func (t *test) report(results []*flowtest.Result, refused bool) error {
	if err := flowtest.WriteText(t.env.Out, results, t.verbose); err != nil {
		return failure{err}
	}
	if t.coverage {
		if err := flowtest.WriteCoverage(t.env.Out, flowtest.MergeCoverage(results)); err != nil {
			return failure{err}
		}
	}
	if err := t.writeJUnit(results); err != nil {
		return failure{err}
	}
	switch {
	case refused:
		return errRefused
	case slices.ContainsFunc(results, func(r *flowtest.Result) bool { return !r.Passed() }):
		return errTestsFailed
	}
	return nil
}

func (t *test) writeJUnit(results []*flowtest.Result) error {
	if t.junit == "" {
		return nil
	}
	f, err := os.Create(t.junit)
	if err != nil {
		return fmt.Errorf("the report cannot be written: %w", err)
	}
	err = flowtest.WriteJUnit(f, results)
	return errors.Join(err, f.Close())
}

// testFiles lists the test files that arguments name: files as they stand, folders for the test files in them.
func testFiles(args []string) ([]string, error) {
	var files []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %s", arg, cause(err))
		case !info.IsDir():
			if !isTestFile(arg) {
				return nil, fmt.Errorf("%s is no test file: name %s, or a folder", arg, beside(arg))
			}
			files = append(files, arg)
			continue
		}
		before := len(files)
		err = filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && isTestFile(path) {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(files) == before {
			return nil, fmt.Errorf("%s holds no test files: their names end in .test.yaml", arg)
		}
	}
	return files, nil
}

func isTestFile(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)) &&
		strings.HasSuffix(strings.TrimSuffix(name, filepath.Ext(name)), ".test")
}

// beside is the name of the test file of a workflow.
func beside(name string) string {
	ext := filepath.Ext(name)
	return strings.TrimSuffix(name, ext) + ".test" + ext
}
