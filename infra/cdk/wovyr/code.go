package wovyr

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"
)

// Code gives the compiled code of one of Wovyr's own functions: orchestrator, activity, timer, publisher or api.
type Code interface {
	// Of returns the code of a function for an architecture, arm64 or amd64 in Go's words.
	Of(function, goarch string) awslambda.Code
}

// GoBuild compiles the functions with the go command, from the version of github.com/wovyr/wovyr that the app's own go.mod requires. The
// binaries depend on nothing but that version: an unchanged one is not deployed again.
type GoBuild struct {
	// Out is the folder of the binaries; "bin/lambda" if empty.
	Out string
}

const module = "github.com/wovyr/wovyr"

// Of implements Code.
func (b GoBuild) Of(function, goarch string) awslambda.Code {
	source, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		panic(fmt.Sprintf("wovyr: where is the module %s? Its go.mod must require it: %v", module, err))
	}
	// Its own go.sum knows what the functions need, the app's does not.
	return compile(b.Out, strings.TrimSpace(string(source)), "./functions/"+function, function, goarch)
}

// compile compiles a package, as the go command takes it in the folder dir, for Lambda.
func compile(out, dir, pkg, function, goarch string) awslambda.Code {
	if out == "" {
		out = filepath.Join("bin", "lambda")
	}
	folder, err := filepath.Abs(filepath.Join(out, goarch, function))
	if err != nil {
		panic(fmt.Sprintf("wovyr: folder of the function %s: %v", function, err))
	}
	// lambda.norpc leaves out a protocol that this runtime does not use; -buildid= and -trimpath make the same bytes everywhere.
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w -buildid=", "-o", filepath.Join(folder, "bootstrap"), pkg)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+goarch, "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("wovyr: compiling the function %s (%s): %v\n%s", function, pkg, err, text))
	}
	return awslambda.Code_FromAsset(jsii.String(folder), nil)
}

// Folder takes binaries that somebody else has compiled: DIR/<goarch>/<function>/bootstrap.
type Folder struct{ Dir string }

// Of implements Code.
func (f Folder) Of(function, goarch string) awslambda.Code {
	return awslambda.Code_FromAsset(jsii.String(filepath.Join(f.Dir, goarch, function)), nil)
}
