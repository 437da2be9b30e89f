package flowtest

import (
	"path"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// testSuffix tells test files from workflows: order.test.yaml tests order.yaml.
const testSuffix = ".test"

// defaultClock is when cases start, unless they say otherwise: a Monday.
var defaultClock = time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC).UnixNano()

// Load reads a test file and the workflows that it names. read gives the content of a file; names are slash-separated and
// relative to where file is. All that is wrong comes back as diagnostics, those of the workflows included; with any error
// the Suite is nil.
func Load(file string, read func(name string) ([]byte, error)) (*Suite, []dsl.Diagnostic) {
	p := &parser{file: file}
	data, err := read(file)
	if err != nil {
		p.errorf(&yaml.Node{Line: 1, Column: 1}, "test/file", "check the path", "the file cannot be read: %s", err)
		return nil, p.list
	}
	root := p.compose(data)
	if root == nil {
		return nil, p.list
	}
	l := &loading{parser: p, read: read, suite: &Suite{File: file, others: map[string]*subject{}}}
	l.document(root)
	if len(p.list) > 0 {
		return nil, p.list
	}
	return l.suite, nil
}

// loading is the reading of one test file.
type loading struct {
	*parser
	read   func(string) ([]byte, error)
	suite  *Suite
	shared []mock
}

func (l *loading) document(root *yaml.Node) {
	var workflowNode, with, mocks, tests *yaml.Node
	l.mapping(root, "a test file",
		word{"workflow", func(_, v *yaml.Node) { workflowNode = v }},
		word{"with", func(_, v *yaml.Node) { with = v }},
		word{"mocks", func(_, v *yaml.Node) { mocks = v }},
		word{"tests", func(_, v *yaml.Node) { tests = v }},
	)
	name := strings.TrimSuffix(strings.TrimSuffix(l.file, path.Ext(l.file)), testSuffix) + path.Ext(l.file)
	at := root
	if workflowNode != nil {
		at = workflowNode
		name = l.beside(l.text(workflowNode, "`workflow`"))
	}
	if workflowNode == nil && name == l.file {
		l.errorf(root, "test/workflow", "add `workflow: order.yaml`", "it does not say which workflow it tests")
		return
	}
	l.suite.main = l.subject(at, name)
	if with != nil {
		l.items(with, "`with`", func(n *yaml.Node) {
			if s := l.subject(n, l.beside(l.text(n, "an entry of `with`"))); s != nil {
				l.suite.others[s.def.Name] = s
			}
		})
	}
	if l.suite.main != nil {
		l.suite.others[l.suite.main.def.Name] = l.suite.main
	}
	if mocks != nil {
		l.shared = l.mocks(mocks)
	}
	if tests == nil {
		l.errorf(root, "test/missing", "add `tests:`, one entry a case", "it has no tests")
		return
	}
	l.entries(tests, "`tests`", func(key, value *yaml.Node) { l.suite.Cases = append(l.suite.Cases, l.testCase(key, value)) })
	if len(l.suite.Cases) == 0 {
		l.errorf(tests, "test/missing", "add a case", "`tests` is empty")
	}
}

// beside is the name of a file that stands relative to the test file.
func (l *loading) beside(name string) string {
	if path.IsAbs(name) {
		return name
	}
	return path.Join(path.Dir(l.file), name)
}

// subject reads and compiles a workflow. Its own errors are reported in its file.
func (l *loading) subject(at *yaml.Node, name string) *subject {
	data, err := l.read(name)
	if err != nil {
		l.errorf(at, "test/workflow", "check the path, or name the file by `workflow:`", "the workflow %s cannot be read: %s", name, err)
		return nil
	}
	def, diagnostics := dsl.Compile(name, data)
	if def == nil {
		l.errorf(at, "test/workflow", "run `wovyr validate "+name+"`", "the workflow %s is refused", name)
		for _, d := range diagnostics {
			if d.Severity == dsl.SeverityError {
				l.list = append(l.list, d)
			}
		}
		return nil
	}
	program, err := engine.Link(def)
	if err != nil {
		l.errorf(at, "test/workflow", "report this: a workflow that is accepted can be run", "the workflow %s cannot be linked: %s", name, err)
		return nil
	}
	return &subject{file: name, def: def, program: program}
}

func (l *loading) testCase(key, n *yaml.Node) Case {
	c := Case{Name: key.Value, At: place(key), Input: workflow.Value("{}"), Clock: defaultClock}
	expected := false
	l.mapping(n, "a test",
		word{"input", func(_, v *yaml.Node) { c.Input = l.value(v) }},
		word{"clock", func(_, v *yaml.Node) { c.Clock = l.time(v, "`clock`") }},
		word{"stop_after", func(_, v *yaml.Node) { c.StopAfter = l.length(v, "`stop_after`") }},
		word{"mocks", func(_, v *yaml.Node) { c.mocks = l.mocks(v) }},
		word{"given", func(_, v *yaml.Node) { c.given = l.givens(v) }},
		word{"expect", func(_, v *yaml.Node) { expected = true; c.expect = l.expectation(v) }},
	)
	if !expected {
		l.errorf(key, "test/missing", "add `expect: { status: Completed }`", "it expects nothing, so it can never fail")
	}
	c.mocks = append(c.mocks, l.shared...)
	return c
}

func (l *loading) mocks(n *yaml.Node) []mock {
	var list []mock
	l.entries(n, "`mocks`", func(key, value *yaml.Node) {
		m := mock{key: key.Value, at: place(key)}
		l.known(key, "the mock", m.key)
		if value.Kind == yaml.SequenceNode {
			l.items(value, "a mock", func(n *yaml.Node) { m.answers = append(m.answers, l.answer(n)) })
		} else {
			m.answers = []answer{l.answer(value)}
		}
		list = append(list, m)
	})
	return list
}

func (l *loading) answer(n *yaml.Node) answer {
	a := answer{at: place(n)}
	var ways []string
	way := func(take func(v *yaml.Node)) func(key, v *yaml.Node) {
		return func(key, v *yaml.Node) { ways = append(ways, key.Value); take(v) }
	}
	l.mapping(n, "a mock",
		word{"attempt", func(_, v *yaml.Node) { a.attempt = l.count(v, "`attempt`") }},
		word{"like", func(_, v *yaml.Node) { a.like = l.pattern(v) }},
		word{"when", func(_, v *yaml.Node) { a.when = l.condition(v, "`when`") }},
		word{"takes", func(_, v *yaml.Node) { a.takes = l.length(v, "`takes`") }},
		word{"output", way(func(v *yaml.Node) { a.output = l.template(v) })},
		word{"error", way(func(v *yaml.Node) { a.error = l.failure(v) })},
		word{"calls", way(func(v *yaml.Node) { a.calls = l.agentCalls(v) })},
		word{"lost", way(func(v *yaml.Node) { a.lost = l.boolean(v, "`lost`") })},
		word{"silent", way(func(v *yaml.Node) { a.silent = l.boolean(v, "`silent`") })},
		word{"state", func(_, v *yaml.Node) { a.state = l.value(v) }},
	)
	switch {
	case n.Kind != yaml.MappingNode:
	case len(ways) == 0:
		l.errorf(n, "test/missing", "add `output: …` or `error: { code: … }`", "the mock does not say what comes back")
	case len(ways) > 1:
		l.errorf(n, "test/both", "write two mocks, as a list", "a mock has one of `output`, `error`, `calls`, `lost` and `silent`, not %s", strings.Join(ways, " and "))
	}
	return a
}

// failure reads an error as activities report it.
func (l *loading) failure(n *yaml.Node) *workflow.Error {
	e := &workflow.Error{Category: workflow.CategoryActivity}
	l.mapping(n, "an error",
		word{"code", func(_, v *yaml.Node) { e.Code = l.text(v, "`code`") }},
		word{"category", func(_, v *yaml.Node) {
			e.Category = workflow.Category(l.oneOf(v, "`category`", "activity", "workflow", "infrastructure", "external"))
		}},
		word{"message", func(_, v *yaml.Node) { e.Message = l.text(v, "`message`") }},
		word{"retryable", func(_, v *yaml.Node) { e.Retryable = l.boolean(v, "`retryable`") }},
		word{"details", func(_, v *yaml.Node) { e.Details = l.value(v) }},
	)
	if n.Kind == yaml.MappingNode && e.Code == "" {
		l.errorf(n, "test/missing", "add `code: card.declined`", "the error has no code")
	}
	return e
}

func (l *loading) agentCalls(n *yaml.Node) []agentCall {
	list := []agentCall{}
	l.items(n, "`calls`", func(n *yaml.Node) {
		c := agentCall{kind: workflow.KindTool}
		l.mapping(n, "a call",
			word{"id", func(_, v *yaml.Node) { c.id = l.text(v, "`id`") }},
			word{"tool", func(_, v *yaml.Node) { c.name = l.text(v, "`tool`") }},
			word{"function", func(_, v *yaml.Node) { c.kind, c.name = workflow.KindFunction, l.text(v, "`function`") }},
			word{"input", func(_, v *yaml.Node) { c.input = l.value(v) }},
			word{"approve", func(_, v *yaml.Node) { c.approve = l.texts(v, "`approve`") }},
		)
		list = append(list, c)
	})
	return list
}
