package wovyr_test

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata/api anew")

// extended are the packages that programs of users build on.
var extended = []string{"pkg/activity", "pkg/activity/activitytest", "pkg/cli", "pkg/secret"}

// TestStableInterfaces tells when something changes that programs of users build on: the exported declarations of these packages
// stand in testdata/api. What is added there is written by -update; what is removed or changed breaks programs, and needs a
// reason in the message of the commit (WF-001 §16).
func TestStableInterfaces(t *testing.T) {
	for _, dir := range extended {
		t.Run(dir, func(t *testing.T) {
			golden := filepath.Join("testdata", "api", strings.ReplaceAll(dir, "/", "-")+".txt")
			got := exported(t, dir)
			if *update {
				require.NoError(t, os.MkdirAll(filepath.Dir(golden), 0o755))
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), got, "an exported declaration was added, changed or removed: go test . -run TestStableInterfaces -update, and read the diff")
		})
	}
}

// exported lists the exported declarations of a package, without comments and bodies.
func exported(t *testing.T, dir string) string {
	files := token.NewFileSet()
	var list []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && path != dir {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "group_") {
			return nil
		}
		f, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.FileExports(f)
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok {
				if fn.Body = nil; fn.Recv != nil && !ast.IsExported(strings.TrimPrefix(types.ExprString(fn.Recv.List[0].Type), "*")) {
					continue
				}
			}
			if gen, ok := decl.(*ast.GenDecl); ok && gen.Tok == token.IMPORT {
				continue
			}
			var b bytes.Buffer
			if err := printer.Fprint(&b, files, decl); err != nil {
				return err
			}
			list = append(list, b.String())
		}
		return nil
	}))
	slices.Sort(list)
	return strings.Join(list, "\n") + "\n"
}
