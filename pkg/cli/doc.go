// Package cli is the command line of Wovyr, for the wovyr command and for programs of users that add Go functions of their own:
//
//	func main() {
//		os.Exit(cli.Main(activity.Func("inventory.reserve", reserve)))
//	}
//
// Such a program is a whole wovyr: it has all its commands, and the workflows that its `run` and `dev` run can call the functions.
//
// There is one file a command. Commands write results to standard output and what went wrong to standard error, and end
// with one of the exit codes of exit.go.
package cli
