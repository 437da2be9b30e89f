package fsm_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What must not compile in a package that uses fsm, with a part of the compiler's message.
var mustNotCompile = []struct{ name, code, message string }{
	{"a number as a state", `var s fsm.WorkflowState = 4`, "cannot use 4"},
	{"a number made a state", `var s = fsm.WorkflowState(4)`, "cannot convert 4"},
	{"a number in a state", `var s = fsm.WorkflowState{4}`, "implicit assignment to unexported field"},
	{"a number in a state by name", `var s = fsm.WorkflowState{workflowState: 4}`, "workflowState"},
	{"a state's content", `func f(s fsm.WorkflowState) { s.workflowState++ }`, "workflowState"},
	{"a text as a state", `var s fsm.ActivityState = "Running"`, `cannot use "Running"`},
	{"a code as a state", `var s fsm.ActivityState = fsm.ActivityStateReady().Code()`, "cannot use"},
	{"a state compared with a number", `var b = fsm.WorkflowStateRunning() == 4`, "mismatched types"},
	{"states in an order", `var b = fsm.WorkflowStateRunning() < fsm.WorkflowStateFailed()`, "operator < not defined"},
	{"a number as an event", `var e fsm.ActivityEvent = 2`, "cannot use 2"},
	{"a number as a guard", `var g fsm.Guard = 1`, "cannot use 1"},
	{"a number as guards", `var g fsm.GuardSet = 3`, "cannot use 3"},

	{"one machine's state made the other's", `var s = fsm.WorkflowState(fsm.ActivityStateRunning())`, "cannot convert"},
	{"one machine's state for the other's", `var s fsm.WorkflowState = fsm.ActivityStateRunning()`, "cannot use"},
	{"states of two machines compared", `var b = fsm.WorkflowStateRunning() == fsm.ActivityStateRunning()`, "mismatched types"},
	{"an event made a state", `var s = fsm.ActivityState(fsm.ActivityStarted())`, "cannot convert"},
	{"an event for a state", `func f(x fsm.Facts) { fsm.WorkflowV1().Next(fsm.WorkflowCreated(), fsm.WorkflowValidated(), &x) }`, "cannot use"},
	{"a workflow event for an activity", `func f(x fsm.Facts) { fsm.ActivityV1().Next(fsm.ActivityStateRunning(), fsm.WorkflowCompleted(), &x) }`, "cannot use"},
	{"an activity event for a workflow", `func f(i *fsm.Instance[fsm.WorkflowState, fsm.WorkflowEvent]) {
		i.Transition(fsm.TransitionEvent[fsm.ActivityEvent]{On: fsm.ActivityStarted()}) }`, "cannot use"},
	{"an activity in a workflow's state", `func f(x fsm.Facts) { fsm.WorkflowV1().Next(fsm.ActivityStateRunning(), fsm.WorkflowCompleted(), &x) }`, "cannot use"},
	{"a record of the other machine", `func f(r fsm.Record[fsm.ActivityState]) fsm.Record[fsm.WorkflowState] { return r }`, "cannot use"},
	{"a mixed row", `var r = fsm.Transition[fsm.WorkflowState, fsm.WorkflowEvent]{On: fsm.ActivityReady()}`, "cannot use"},
	{"one machine for the other", `var m fsm.Machine[fsm.WorkflowState, fsm.WorkflowEvent] = fsm.ActivityV1()`, "cannot use"},

	{"a state overwritten", `func f() { fsm.WorkflowStateFailed() = fsm.WorkflowStateRunning() }`, "cannot assign"},
	{"a machine overwritten", `func f() { fsm.WorkflowV1() = fsm.Machine[fsm.WorkflowState, fsm.WorkflowEvent]{} }`, "cannot assign"},
	{"a table reached", `var t = fsm.WorkflowV1().table`, "table"},
	{"an instance's state set", `func f(i *fsm.Instance[fsm.WorkflowState, fsm.WorkflowEvent]) { i.current = fsm.WorkflowStateRunning() }`, "current"},
	{"an instance made by hand", `var i = fsm.Instance[fsm.WorkflowState, fsm.WorkflowEvent]{current: fsm.WorkflowStateRunning()}`, "current"},

	{"a machine over numbers", `var m fsm.Machine[int, fsm.WorkflowEvent]`, "does not satisfy"},
	{"a machine over a foreign state", `type mine struct{ fsm.WorkflowState }
		var m fsm.Machine[mine, fsm.WorkflowEvent]`, "does not satisfy"},
	{"a machine with states as events", `var m fsm.Machine[fsm.WorkflowState, fsm.WorkflowState]`, "does not satisfy"},
}

func TestIllegalUseDoesNotCompile(t *testing.T) {
	fset := token.NewFileSet()
	pkg := checkPackage(t, fset)
	compile := func(code string) error {
		file, err := parser.ParseFile(fset, "use.go", "package use\nimport \"github.com/wovyr/wovyr/pkg/fsm\"\n"+code, 0)
		require.NoError(t, err)
		_, err = (&types.Config{Importer: only{pkg}}).Check("use", fset, []*ast.File{file}, nil)
		return err
	}
	require.NoError(t, compile(`func legal(i *fsm.Instance[fsm.WorkflowState, fsm.WorkflowEvent], x fsm.Facts) (fsm.WorkflowState, error) {
		if i.CurrentState() == fsm.WorkflowStateRunning() {
			_, err := i.Transition(fsm.TransitionEvent[fsm.WorkflowEvent]{On: fsm.WorkflowPaused(), Facts: x})
			return i.CurrentState(), err
		}
		return fsm.WorkflowV1().Next(fsm.WorkflowStateCreated(), fsm.WorkflowValidated(), &x)
	}
	func generic[S fsm.State, E fsm.Event](m fsm.Machine[S, E], s S, e E) bool { _, ok := m.Edge(s, e); return ok }`),
		"else nothing here would compile")
	for _, c := range mustNotCompile {
		t.Run(c.name, func(t *testing.T) { require.ErrorContains(t, compile(c.code), c.message) })
	}
}

// checkPackage type-checks this package from its source.
func checkPackage(t *testing.T, fset *token.FileSet) *types.Package {
	t.Helper()
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		file, err := parser.ParseFile(fset, name, text, 0)
		require.NoError(t, err)
		files = append(files, file)
	}
	conf := types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	pkg, err := conf.Check("github.com/wovyr/wovyr/pkg/fsm", fset, files, nil)
	require.NoError(t, err)
	return pkg
}

// only imports one package.
type only struct{ pkg *types.Package }

func (o only) Import(string) (*types.Package, error) { return o.pkg, nil }
