package dsl

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/expr"
)

// entry is one code of docs/diagnostics.md with its two documents: one that provokes it, and one that does not.
type catalogued struct {
	code, severity string
	documents      []string
}

var (
	codeHeading = regexp.MustCompile(`(?m)^### (dsl/[a-z-]+)\n\n\*([a-z ]+)\.\* `)
	yamlBlock   = regexp.MustCompile("(?s)```yaml\n(.*?)```")
)

func catalogue(t *testing.T) []catalogued {
	page, err := os.ReadFile("../../docs/diagnostics.md")
	require.NoError(t, err)
	var all []catalogued
	heads := codeHeading.FindAllSubmatchIndex(page, -1)
	for i, at := range heads {
		end := len(page)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		c := catalogued{code: string(page[at[2]:at[3]]), severity: string(page[at[4]:at[5]])}
		for _, block := range yamlBlock.FindAllSubmatch(page[at[0]:end], -1) {
			c.documents = append(c.documents, string(block[1]))
		}
		all = append(all, c)
	}
	return all
}

// The page has each code of the source and no other one.
func TestCatalogueIsWhole(t *testing.T) {
	want := codesInSource(t)
	for _, code := range []string{expr.CodeSyntax, expr.CodeName, expr.CodeType, expr.CodeRange, expr.CodeMissing, expr.CodeCost, expr.CodeTooLarge, expr.CodeInvalid} {
		want = append(want, issueCode(code))
	}
	slices.Sort(want)
	var got []string
	for _, c := range catalogue(t) {
		got = append(got, c.code)
	}
	slices.Sort(got)
	require.Equal(t, slices.Compact(want), got)
}

// The first document of each code provokes it, as the severity says; the second one has no finding at all but, where it cannot
// be otherwise, warnings of other codes.
func TestCatalogueExamples(t *testing.T) {
	for _, c := range catalogue(t) {
		t.Run(strings.TrimPrefix(c.code, "dsl/"), func(t *testing.T) {
			if len(c.documents) == 0 {
				return // about the file itself; testdata has it
			}
			require.Len(t, c.documents, 2)
			_, found := Compile("bad.yaml", []byte(preamble+c.documents[0]))
			i := slices.IndexFunc(found, func(d Diagnostic) bool { return d.Code == c.code })
			require.GreaterOrEqual(t, i, 0, "%v", found)
			require.Contains(t, c.severity, string(found[i].Severity))
			def, found := Compile("good.yaml", []byte(preamble+c.documents[1]))
			require.NotNil(t, def, "%v", found)
			require.Empty(t, found)
		})
	}
}
