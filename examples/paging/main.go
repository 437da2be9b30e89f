// All pages of a REST API, read by a workflow from an archive on this machine, so that it runs without a network. From this folder:
//
//	go run .
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/wovyr/wovyr/pkg/cli"
)

func main() {
	if _, err := os.Stat("paging.yaml"); err != nil {
		fmt.Fprintln(os.Stderr, "run this from its folder: cd examples/paging")
		os.Exit(2)
	}
	os.Exit(read(cli.System(), &archive{orders: 730}, ".wovyr"))
}

// read runs the workflow once and returns the exit code.
func read(env cli.Environment, a *archive, data string) int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(env.Err, err)
		return 2
	}
	server := &http.Server{Handler: a}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	input, err := json.Marshal(map[string]string{"archive": "http://" + listener.Addr().String()})
	if err != nil {
		fmt.Fprintln(env.Err, err)
		return 2
	}
	return cli.Run(env, []string{"run", "paging.yaml", "--input", string(input), "--data", data})
}
