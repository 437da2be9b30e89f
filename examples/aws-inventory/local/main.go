// Command local is a whole wovyr with the activities of the shop: `go run ./local test .`, `go run ./local dev order.yaml`.
package main

import (
	"os"

	"github.com/wovyr/wovyr/pkg/cli"

	"example.com/shop/stock"
)

func main() { os.Exit(cli.Main(stock.Functions()...)) }
