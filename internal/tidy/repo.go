package tidy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Repo is a checkout as the rules see it.
type Repo struct {
	// Dir is the absolute path of the checkout.
	Dir string
	// Module is the path of its root module.
	Module string
	// Files are the files that belong to the repository: slash-separated, relative to Dir, sorted.
	Files []string
	// Packages are the Go packages of the root module, sorted by path.
	Packages []*Package

	text map[string]string
}

// Package is one Go package of the root module.
type Package struct {
	// Path is relative to the module: "pkg/fsm", "." for the root.
	Path string
	Name string
	// Files are all its Go files, sorted by name, tests included.
	Files []*File
	// Types and Info are the type-checked package without its tests; nil if it has no other files.
	Types *types.Package
	Info  *types.Info
}

// File is one parsed Go file.
type File struct {
	// Path is relative to the repository.
	Path string
	Test bool
	AST  *ast.File
	fset *token.FileSet
}

// Finding is one breach of a rule.
type Finding struct {
	// Path and Line say where; Line is 0 if the finding is about a whole file or folder.
	Path string
	Line int
	// Rule names the rule.
	Rule string
	// Text says what is wrong and what to do instead.
	Text string
}

// String returns "path:line: text [rule]".
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d: %s [%s]", f.Path, f.Line, f.Text, f.Rule)
}

// at makes a finding at a place in a Go file.
func (f *File) at(pos token.Pos, format string, args ...any) Finding {
	return Finding{Path: f.Path, Line: f.line(pos), Text: fmt.Sprintf(format, args...)}
}

func (f *File) line(pos token.Pos) int { return f.fset.Position(pos).Line }

// at makes a finding about the whole package, at its first file.
func (p *Package) at(format string, args ...any) Finding {
	first := p.Files[0]
	return first.at(first.AST.Package, format, args...)
}

// Read returns the content of one of the repository's files.
func (r *Repo) Read(path string) (string, error) {
	if text, ok := r.text[path]; ok {
		return text, nil
	}
	b, err := os.ReadFile(filepath.Join(r.Dir, path))
	if err != nil {
		return "", err
	}
	r.text[path] = string(b)
	return r.text[path], nil
}

// Has reports whether a path, relative to the repository, is one of its files or folders.
func (r *Repo) Has(path string) bool {
	path = strings.TrimSuffix(path, "/")
	if path == "" || path == "." {
		return true
	}
	i, found := slices.BinarySearch(r.Files, path)
	if found {
		return true
	}
	// Files below the folder need not follow at once: "a-b" sorts between "a" and "a/c".
	for _, f := range r.Files[i:] {
		if strings.HasPrefix(f, path+"/") {
			return true
		}
		if !strings.HasPrefix(f, path) {
			return false
		}
	}
	return false
}

// GitFiles lists the files that git tracks in dir, and those it would track: what .gitignore names is left out.
func GitFiles(dir string) ([]string, error) {
	out, err := run(dir, "git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	var files []string
	for f := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if _, err := os.Lstat(filepath.Join(dir, f)); err == nil { // deleted, not yet committed
			files = append(files, f)
		}
	}
	return files, nil
}

// listed is what `go list -json` tells of a package.
type listed struct {
	ImportPath, Dir, Name, Export      string
	GoFiles, TestGoFiles, XTestGoFiles []string
	IgnoredGoFiles                     []string
	Module                             *struct {
		Path string
		Main bool
	}
	DepOnly bool
	Error   *struct{ Err string }
}

// Load reads the repository in dir, which consists of files, and type-checks the packages of its
// root module. What does not compile is an error.
func Load(dir string, files []string) (*Repo, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	r := &Repo{Dir: dir, Files: slices.Sorted(slices.Values(files)), text: map[string]string{}}
	out, err := run(dir, "go", "list", "-deps", "-export",
		"-json=ImportPath,Dir,Name,Export,GoFiles,TestGoFiles,XTestGoFiles,IgnoredGoFiles,Module,DepOnly,Error", "./...")
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	var own []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := dec.Decode(&l); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if l.Error != nil {
			return nil, fmt.Errorf("go list: %s: %s", l.ImportPath, l.Error.Err)
		}
		exports[l.ImportPath] = l.Export
		if !l.DepOnly {
			own = append(own, l)
			r.Module = l.Module.Path
		}
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, l := range own {
		p, err := r.loadPackage(fset, imports, l)
		if err != nil {
			return nil, err
		}
		r.Packages = append(r.Packages, p)
	}
	slices.SortFunc(r.Packages, func(a, b *Package) int { return strings.Compare(a.Path, b.Path) })
	return r, nil
}

// loadPackage parses all files of a package and type-checks those that are no tests.
func (r *Repo) loadPackage(fset *token.FileSet, imports types.Importer, l listed) (*Package, error) {
	p := &Package{Path: strings.TrimPrefix(strings.TrimPrefix(l.ImportPath, r.Module), "/"), Name: l.Name}
	if p.Path == "" {
		p.Path = "."
	}
	var checked []*ast.File
	for _, name := range slices.Sorted(slices.Values(slices.Concat(l.GoFiles, l.TestGoFiles, l.XTestGoFiles, l.IgnoredGoFiles))) {
		syntax, err := parser.ParseFile(fset, filepath.Join(l.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		path, err := filepath.Rel(r.Dir, filepath.Join(l.Dir, name))
		if err != nil {
			return nil, err
		}
		p.Files = append(p.Files, &File{
			Path: filepath.ToSlash(path), Test: strings.HasSuffix(name, "_test.go"), AST: syntax, fset: fset,
		})
		if slices.Contains(l.GoFiles, name) {
			checked = append(checked, syntax)
		}
	}
	if len(checked) == 0 {
		return p, nil
	}
	p.Info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: imports}
	var err error
	p.Types, err = conf.Check(l.ImportPath, fset, checked, p.Info)
	return p, err
}

// imports calls yield for each import of the package's files.
func (p *Package) imports(yield func(f *File, spec *ast.ImportSpec, path string)) {
	for _, f := range p.Files {
		for _, spec := range f.AST.Imports {
			yield(f, spec, strings.Trim(spec.Path.Value, "\"`"))
		}
	}
}

// run runs a command in dir and returns its standard output.
func run(dir string, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(append([]string{name}, args...), " "), err, stderr.Bytes())
	}
	return out, nil
}
