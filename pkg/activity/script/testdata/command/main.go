// Command command is a script for tests, compiled to WebAssembly: it does what its input says.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

var sink [][]byte

func main() {
	var in struct {
		Do   string `json:"do"`
		Text string `json:"text"`
		N    int    `json:"n"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		fmt.Fprintln(os.Stderr, "input:", err)
		os.Exit(2)
	}
	switch in.Do {
	case "echo":
		answer(map[string]any{"text": in.Text, "upper": strings.ToUpper(in.Text)})
	case "say":
		fmt.Fprintln(os.Stderr, in.Text)
		answer(in.Text)
	case "exit":
		fmt.Fprintln(os.Stderr, in.Text)
		os.Exit(in.N)
	case "fail":
		fmt.Print(`{"error":{"code":"stock.empty","category":"external","message":`, quoted(in.Text), `,"retryable":true}}`)
		os.Exit(1)
	case "prose":
		fmt.Print("hello")
	case "nothing":
	case "loop":
		for i := 0; ; i++ {
			in.N += i
		}
	case "recurse":
		answer(depth(in.N))
	case "eat":
		for {
			sink = append(sink, make([]byte, 1<<20))
		}
	case "flood":
		for {
			fmt.Println(strings.Repeat("x", 1<<10))
		}
	case "sleep":
		time.Sleep(time.Hour)
		answer("slept")
	case "look":
		answer(look())
	case "bytes":
		fmt.Print(`"`, strings.Repeat("x", in.N), `"`)
	}
}

func depth(n int) int {
	if n == 0 {
		return 0
	}
	return depth(n-1) + depth(n-1) + 1
}

// look tries what a script must not have.
func look() map[string]any {
	out := map[string]any{"env": os.Environ(), "args": len(os.Args)}
	entries, err := os.ReadDir("/")
	out["root"] = fmt.Sprint(len(entries), err != nil)
	_, err = os.ReadFile("/etc/passwd")
	out["read"] = err != nil
	out["write"] = os.WriteFile("x", nil, 0o600) != nil
	_, err = net.Dial("tcp", "127.0.0.1:80")
	out["dial"] = err != nil
	_, err = net.Listen("tcp", "127.0.0.1:0")
	out["listen"] = err == nil // Go's own network inside of the process, where nobody else is
	out["year"] = time.Now().Year()
	return out
}

func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

func answer(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	_, _ = io.WriteString(os.Stdout, string(b)+"\n")
}
