// Command wovyr runs, serves, checks, draws and tests workflows. `wovyr --help` says more.
package main

import (
	"os"

	"github.com/wovyr/wovyr/pkg/cli"
)

func main() {
	os.Exit(cli.Main())
}
