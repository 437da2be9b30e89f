// Command wovyr checks workflows and draws them. `wovyr --help` says more.
package main

import (
	"os"

	"github.com/wovyr/wovyr/cmd/wovyr/internal/cli"
)

func main() {
	os.Exit(cli.Run(cli.System(), os.Args[1:]))
}
