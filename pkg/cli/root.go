package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/wovyr/wovyr/pkg/activity"
)

// Environment is what a run may touch of the outside, so that tests can give their own.
type Environment struct {
	In       io.Reader
	Out, Err io.Writer
	// Colour is set where Out is a terminal that shows colours, ErrColour where Err is one.
	Colour, ErrColour bool
	// Interactive is set where In and Err are a terminal, so that questions can be asked.
	Interactive bool
	// Standard is set where the whole process is this run: what libraries log is masked, too.
	Standard bool
	// Functions are Go functions that workflows can call, beside the std. ones.
	Functions []activity.Function
}

// System is the environment of the process. NO_COLOR (any value but the empty one) and TERM=dumb turn colours off.
func System() Environment {
	colours := os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return Environment{Standard: true, In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Colour: colours && terminal(os.Stdout), ErrColour: colours && terminal(os.Stderr), Interactive: terminal(os.Stdin) && terminal(os.Stderr)}
}

func terminal(f *os.File) bool { return isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()) }

// Main is the whole of a main function: it carries out the command line of the process and returns its exit code. Workflows
// can call the functions given, beside those of std and those that wovyr.yaml names.
func Main(functions ...activity.Function) int {
	env := System()
	env.Functions = functions
	return Run(env, os.Args[1:])
}

// Run carries out one command line, without the program's name, and returns the exit code.
func Run(env Environment, args []string) int {
	root := newRoot(env)
	began := false // the command line was understood
	root.PersistentPreRun = func(*cobra.Command, []string) { began = true }
	root.SetArgs(args)
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	var unknown error // a name that is no command, with --help behind it
	show := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if c.HasSubCommands() {
			unknown = oneOfThem(c, c.Flags().Args())
		}
		if unknown == nil {
			show(c, args)
		}
	})
	command, err := root.ExecuteC()
	if err == nil {
		err = unknown
	}
	if err != nil && !silent(err) {
		fmt.Fprintf(env.Err, "wovyr: %s\n", visibleLines(inOurWords(err).Error()))
		if !began || errors.As(err, new(misuse)) {
			fmt.Fprintf(env.Err, "Run '%s --help' for what it takes, with examples.\n", command.CommandPath())
		}
	}
	return codeOf(err)
}

func newRoot(env Environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "wovyr",
		Short: "Durable workflows: run them, check them, draw them, test them",
		Long: `Wovyr runs durable workflows, written as YAML or JSON documents.

It runs them in one process on a folder, or serves them; it checks documents before
you deploy them, draws them, runs their unit tests, and prints the JSON Schema with
which editors complete and check them while you type.`,
		Example: `  wovyr run order.yaml --input '{…}'     run it here, durably
  wovyr dev                             serve workflows on this machine
  wovyr list --stack wovyr              speak to a deployment on AWS
  wovyr validate order.yaml             say all that is wrong with a document
  wovyr graph order.yaml -w order.svg   draw it
  wovyr test order.test.yaml            run its tests, in virtual time
  wovyr schema > wovyr.schema.json      let your editor check it`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		Version:           "of this build", // what --version prints is the template below
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetVersionTemplate(versionText())
	root.Flags().Bool("version", false, "print the version of this tool and of what it reads")
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "{{if .Runnable}}", "{{if and .Runnable (not .HasAvailableSubCommands)}}", 1))
	root.SetHelpTemplate(root.HelpTemplate() + exitCodesHelp)
	add := func(title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: title, Title: title})
		for _, c := range commands {
			c.GroupID = title
			root.AddCommand(c)
		}
	}
	add("Write workflows:", newValidate(env), newGraph(env), newTest(env), newSchema(env))
	add("Run them:", newRun(env), newDev(env), newDeploy(env), newStart(env), newSignal(env), newPublish(env), newTask(env), newCancel(env), newSecrets(env))
	add("Look at executions:", newGet(env), newList(env), newHistory(env), newCost(env), newVerify(env))
	operate := []*cobra.Command{newRedrive(env)}
	for _, m := range moves {
		operate = append(operate, newMove(env, m))
	}
	operate = append(operate, newDeadLetters(env), newUnpublished(env), newIndex(env))
	add("Help them on:", operate...)
	root.AddCommand(newVersion(env))
	root.InitDefaultHelpCmd()
	plainArguments(root)
	return root
}

const exitCodesHelp = `
Exit codes:
  0    fine; the execution completed
  1    the execution failed, was cancelled or compensated; a test failed; a result
       could not be written
  2    a document is refused, a file cannot be read, or the command was used wrongly:
       nothing was started
  3    no server answers
  130  interrupted
`
