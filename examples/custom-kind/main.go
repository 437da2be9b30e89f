// A wovyr of your own with a kind of activity of your own, in one file: query.go.
package main

import (
	"database/sql"
	"fmt"
	"os"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/cli"
)

func main() {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	db.SetMaxOpenConns(1) // it is in memory, so of one connection
	os.Exit(cli.Main(activity.Custom(Query{DB: db}.Kind())))
}
