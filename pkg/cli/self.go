package cli

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// program is how a person calls this program, for commands that he can copy.
func program() string {
	info, ok := debug.ReadBuildInfo()
	if ok && strings.Contains(os.Args[0], "go-build") { // a program of `go run` is gone when it ends
		return "go run ." + strings.TrimPrefix(info.Path, info.Main.Path)
	}
	return filepath.Base(os.Args[0])
}

// user is who sits at this machine, or "" if it does not say.
func user() string {
	for _, name := range []string{"USER", "USERNAME"} {
		if u := os.Getenv(name); u != "" {
			return u
		}
	}
	return ""
}
