// Package wovyr_test holds the house rules that this repository keeps; internal/tidy has the rules themselves.
// Each finding says what to do. ARCHITECTURE.md explains the arrow and the purity of the core.
package wovyr_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/tidy"
)

// layers is the import arrow (a ← b: b imports a):
//
//	fsm ← workflow ← expr ← {dsl, engine} ← worker ← {local, aws} ← {sim, functions, cmd}
//
// eventstore and activity are leaves that know no engine; adapters never import each other. A new package
// gets a row, as low as it can stand. Rows of packages that are to come state where they will stand.
var layers = []tidy.Layer{
	// The core: pure, few dependencies.
	{Path: "pkg/fsm", Modules: none},
	{Path: "pkg/workflow", May: only("pkg/fsm"), Modules: none},
	{Path: "pkg/workflow/codec", May: only("pkg/fsm", "pkg/workflow"), Modules: []string{"github.com/fxamacker/cbor/v2"}},
	{Path: "pkg/expr", May: only("pkg/fsm", "pkg/workflow"), Modules: []string{"cel.dev/cel-go", "cel.dev/expr", "google.golang.org/protobuf"}},
	{Path: "pkg/dsl/...", May: only("pkg/fsm", "pkg/workflow", "pkg/expr"), Tests: only("pkg/dsl/..."),
		Modules: []string{"go.yaml.in/yaml/v4", "github.com/santhosh-tekuri/jsonschema/v6"}},
	{Path: "pkg/engine", May: only("pkg/fsm", "pkg/workflow", "pkg/expr"), Tests: only("pkg/dsl", "pkg/workflow/codec"), Modules: none},

	// Pictures of definitions. Not of the core, but it depends on nothing else.
	{Path: "pkg/graph/...", May: only("pkg/workflow", "pkg/graph/..."), Tests: only("pkg/dsl"), Modules: none},

	// Unit tests of workflows: the core in virtual time.
	{Path: "pkg/flowtest", May: only("pkg/fsm", "pkg/workflow", "pkg/expr", "pkg/dsl", "pkg/engine", "pkg/schema", "pkg/activity"), Tests: only("pkg/activity/script"),
		Modules: []string{"go.yaml.in/yaml/v4"}},

	// Leaves: they know no engine, and the store knows no workflow either: a commit is bytes to it.
	{Path: "pkg/eventstore", Tests: only("pkg/eventstore/...")},
	{Path: "pkg/eventstore/storetest", May: only("pkg/eventstore")},
	{Path: "pkg/eventstore/dynamodb/...", May: only("pkg/eventstore", "pkg/eventstore/dynamodb/..."), Tests: only("pkg/eventstore/storetest", "internal/emulator")},
	{Path: "pkg/eventstore/...", May: only("pkg/eventstore"), Tests: only("pkg/eventstore/storetest", "internal/emulator")},
	{Path: "pkg/secret", May: only("pkg/workflow"), Modules: none},
	{Path: "pkg/secret/...", May: only("pkg/workflow", "pkg/secret")},
	{Path: "pkg/activity/activitytest", May: only("pkg/workflow", "pkg/activity", "pkg/secret", "pkg/schema")},
	{Path: "pkg/activity/...", May: only("pkg/workflow", "pkg/secret", "pkg/activity/...")},

	// The shell.
	{Path: "pkg/worker", May: below, Tests: only("pkg/worker/porttest", "pkg/eventstore/...", "pkg/dsl")},
	{Path: "pkg/worker/machine", May: only("pkg/eventstore"), Tests: only("pkg/worker"), Modules: none},
	{Path: "pkg/worker/porttest", May: only("pkg/worker", "pkg/workflow", "pkg/eventstore")},

	// Values against JSON Schemas, and the project file: nouns of the places where workflows run.
	{Path: "pkg/schema", May: only("pkg/workflow"), Modules: []string{"github.com/santhosh-tekuri/jsonschema/v6", "github.com/hashicorp/golang-lru/v2"}},
	{Path: "pkg/project", May: only("pkg/activity/...", "pkg/secret/...", "pkg/workflow")},

	// Requests of webhooks: a leaf that the API reads them by.
	{Path: "pkg/webhook", May: only("pkg/workflow"), Modules: none},

	// Platforms: each knows its own store, and not the other platform.
	{Path: "pkg/local", May: append(only("pkg/worker", "pkg/worker/machine", "pkg/eventstore/memory", "pkg/eventstore/sqlite", "pkg/eventstore/folder"), below...), Tests: only("pkg/worker/porttest", "pkg/dsl")},
	{Path: "pkg/aws/connect", May: only("pkg/client", "pkg/aws/stack"), Tests: only("internal/emulator")}, // for callers: it holds nothing of the platform
	{Path: "pkg/aws/estimate", May: only("pkg/client", "pkg/aws/meter", "pkg/aws/stack"), Modules: none},  // for callers, like connect
	{Path: "pkg/aws/stack", Modules: none}, // the CDK app and everybody else read it
	{Path: "pkg/aws/fit", May: only("pkg/workflow", "pkg/dsl", "pkg/aws/stack"), Modules: none},
	{Path: "pkg/aws/kinds", May: append(only("pkg/aws/stack"), below...), Tests: only("pkg/...")},
	{Path: "pkg/aws/...", May: append(only("pkg/worker", "pkg/worker/machine", "pkg/aws/...", "pkg/eventstore/dynamodb/...", "pkg/eventstore/s3"), below...), Tests: only("pkg/worker/porttest", "internal/emulator", "internal/awsproxy", "pkg/dsl", "pkg/eventstore/memory", "pkg/aws/fit", "pkg/aws/kinds")},

	// What stands on top.
	{Path: "pkg/sim", May: append(only("pkg/worker", "pkg/eventstore/memory"), below...), Tests: only("pkg/dsl", "pkg/worker/porttest")},
	{Path: "pkg/client", May: only("pkg/workflow"), Tests: only("pkg/...")}, // has the forms on the wire, which the API shares
	{Path: "pkg/api", May: append(only("pkg/worker", "pkg/dsl", "pkg/client", "pkg/webhook"), below...), Tests: only("pkg/...")},
	{Path: "pkg/node", May: append(only("pkg/worker", "pkg/local", "pkg/api", "pkg/client", "pkg/project"), below...), Tests: only("pkg/...", "internal/e2e")},
	{Path: "pkg/cli", May: only("pkg/...")}, // the whole program, for mains
	{Path: "cmd/...", May: only("pkg/...", "console/...", "cmd/...")},
	{Path: "functions/...", May: only("pkg/...")},
	{Path: "console/...", May: only("pkg/client", "pkg/workflow")},
	{Path: "bench/aws", Tests: only("pkg/...", "internal/deployment")},
	{Path: "bench/...", May: only("pkg/...")},
	{Path: "examples/...", May: only("pkg/...")},

	// Tests of whole deployments, by nothing but the API.
	{Path: "internal/e2e", May: only("pkg/client")},
	{Path: "localstack/chaos", Tests: only("internal/awsproxy", "pkg/client", "pkg/aws/stack", "pkg/eventstore/dynamodb/schema")},
	{Path: "localstack/e2e", Tests: only("internal/e2e", "pkg/client", "pkg/cli", "pkg/aws/...", "internal/awsproxy", "localstack/rights")},
	{Path: "localstack/rights", May: only("internal/awsproxy", "internal/iampolicy", "pkg/aws/stack")},

	// The house itself.
	{Path: ".", Tests: only("internal/tidy")},
	{Path: "internal/tidy", Modules: none},
	{Path: "internal/emulator"},
	{Path: "internal/deployment", May: only("pkg/...", "internal/emulator")},
	{Path: "internal/iampolicy", Modules: none},
	{Path: "internal/awsproxy", May: only("pkg/aws/stack"), Tests: only("internal/emulator")},
}

var (
	none  = []string{}
	below = only("pkg/schema", "pkg/secret", "pkg/fsm", "pkg/workflow", "pkg/workflow/codec", "pkg/expr", "pkg/engine", "pkg/eventstore", "pkg/activity/...")
)

func only(paths ...string) []string { return paths }

var house = &tidy.House{
	Layers: layers,
	Core:   only("pkg/fsm", "pkg/workflow", "pkg/workflow/codec", "pkg/expr", "pkg/dsl/...", "pkg/engine"),
	Sync:   only("pkg/expr"),

	WideInterfaces: map[string]string{},
	NoExample: map[string]string{
		"pkg/local":  "ExampleOpen of pkg/node shows it with API and project",
		"pkg/sim":    "runs the worker under faults, for the tests of this repository",
		"pkg/worker": "platforms put it together; ExampleOpen of pkg/node shows one that is",
	},
	LongFiles: map[string]string{},

	Words: []tidy.Word{ // spelled so that they do not match themselves
		{Pattern: `(?:^|[^\w.-])/(?:wor[k]|tm[p]|roo[t]|far[m]|hom[e]/\w+)/`, Why: "a path of one machine"},
		{Pattern: `\.\./share[d]\b|bash_job[s]|localstack-hos[t]|DEVELOPER[S]\.md|a-see[d]-\w+`, Why: "a word of one workplace"},
		{Pattern: `prox[y]\.golang\.org|su[m]\.golang\.org|pyp[i]\.org|registr[y]\.npmjs|crate[s]\.io|rep[o]1?\.maven|de[b]\.debian\.org`, Why: "the host of a package registry"},
	},

	Issues:   []string{"foundation", "engine", "runtime", "activities", "ai", "triggers", "aws platform", "security", "observability"},
	Sections: sections,
}

// sections hold the number of requirements of each section, 1 to the last, of the three documents of the specification.
var sections = map[string][]int{
	"WF-001": {10, 9, 8, 11, 22, 22, 11, 11, 7, 8, 6, 7, 8, 7, 5, 7, 8, 6, 1, 1},
	"WF-002": {9, 7, 3, 11, 13, 9, 7, 7, 6, 8, 5, 5, 5, 8, 5, 10, 5, 6, 5, 5, 6, 5, 4, 3, 10, 6, 5, 7, 5, 1, 1},
	"WF-006": {8, 8, 8, 10, 10, 7, 7, 14, 8, 9, 18, 11, 3, 5, 9, 3, 9, 5, 6, 6, 7, 2, 4, 8, 15, 14, 7, 6, 1, 1},
}

func TestHouseRules(t *testing.T) {
	files, err := tidy.GitFiles(".")
	require.NoError(t, err, "the rules read what git tracks: run them in a checkout")
	repo, err := tidy.Load(".", files)
	require.NoError(t, err)
	findings := map[string][]tidy.Finding{}
	for _, f := range tidy.Check(repo, house) {
		findings[f.Rule] = append(findings[f.Rule], f)
	}
	for _, rule := range tidy.Rules {
		t.Run(rule.Name, func(t *testing.T) {
			for _, f := range findings[rule.Name] {
				t.Error(f)
			}
		})
	}
}

// TestWordsMatch shows that the patterns match what they are meant for, and not what looks like it.
func TestWordsMatch(t *testing.T) {
	refused := []string{
		"see /wo" + "rk/main", `"/tm` + `p/x"`, "/ro" + "ot/go", "in /ho" + "me/ann/src", "../sha" + "red/spec", "bash_jo" + "bs.0",
		"https://proxy.gol" + "ang.org", "https://pyp" + "i.org/simple",
	}
	for _, text := range refused {
		require.True(t, anyWord(text), "should be refused: %s", text)
	}
	for _, text := range []string{"framework/main", "the work/life", "a/tmp.go", "pkg/workflow", "home/", "docs/shared", "root"} {
		require.False(t, anyWord(text), "should be allowed: %s", text)
	}
}

func anyWord(text string) bool {
	return slices.ContainsFunc(house.Words, func(w tidy.Word) bool { return regexp.MustCompile(w.Pattern).MatchString(text) })
}
