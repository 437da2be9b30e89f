// A payment by HTTP with a bank and a carrier on this machine, so that it runs without a network. From this folder:
//
//	go run .                  the money is taken once, although the bank is asked three times
//	go run . --weight 50      the carrier refuses the parcel, and the money goes back
package main

import (
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/wovyr/wovyr/pkg/cli"
)

func main() {
	weight := flag.Float64("weight", 2, "of the parcel, in kg")
	flag.Parse()
	if _, err := os.Stat("payment.yaml"); err != nil {
		fmt.Fprintln(os.Stderr, "run this from its folder: cd examples/payment")
		os.Exit(2)
	}
	os.Exit(pay(cli.System(), *weight, os.Stderr, ".wovyr"))
}

// pay runs the workflow once and returns the exit code. What bank and carrier did goes to the ledger.
func pay(env cli.Environment, weight float64, ledger io.Writer, data string) int {
	secret := rand.Text()
	if err := os.Setenv("BANK_SECRET", secret); err != nil {
		fmt.Fprintln(env.Err, err)
		return 2
	}
	mux := http.NewServeMux()
	mux.Handle("/bank/", http.StripPrefix("/bank", NewBank(secret, ledger).Handler()))
	mux.HandleFunc("POST /carrier/parcels", carrier(ledger))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(env.Err, err)
		return 2
	}
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()

	at := "http://" + listener.Addr().String()
	input, err := json.Marshal(map[string]any{"bank": at + "/bank", "carrier": at + "/carrier", "order": "o-1", "amount": 30, "weight": weight})
	if err != nil {
		fmt.Fprintln(env.Err, err)
		return 2
	}
	return cli.Run(env, []string{"run", "payment.yaml", "--input", string(input), "--data", data})
}
