package dsl

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// repeated makes lines up to a size.
func repeated(size int, line func(i int) string) string {
	var b strings.Builder
	for i := 0; ; i++ {
		next := line(i)
		if b.Len()+len(next) > size {
			return b.String()
		}
		b.WriteString(next)
	}
}

// million is the size of most hostile texts, in bytes: a few of them are as slow as it gets.
const million = 1_000_000

// head starts a document whose steps follow.
const head = "dsl: wovyr/v1\nname: hostile\nsteps:\n"

// hostileTexts are documents that are made to cost: each must end with diagnostics, within memory in proportion to its size.
func hostileTexts() map[string]struct{ text, code string } {
	line := func(s string) func(int) string { return func(int) string { return s } }
	bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c <= 'z'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat("*"+string(c-1)+", ", 9), ", "))
	}
	tower := "a0: &a0 [x]\n"
	for i := range 500 {
		tower += fmt.Sprintf("a%d: &a%d [*a%d]\n", i+1, i+1, i)
	}
	merges := "base: &base {" + repeated(40_000, func(i int) string { return fmt.Sprintf("k%d: 1, ", i) }) + "}\n" +
		repeated(400_000, func(i int) string { return fmt.Sprintf("m%d: {<<: *base}\n", i) })
	indent := func(i int) string { return strings.Repeat(" ", i) + "a:\n" }
	return map[string]struct{ text, code string }{
		"10 MB":                        {repeated(10<<20, line("a: b\n")), "dsl/too-large"},
		"one byte too many":            {strings.Repeat(" ", maxBytes+1), "dsl/too-large"},
		"10,000 lists":                 {strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), "dsl/too-deep"},
		"10,000 lists, never closed":   {strings.Repeat("[", 10_000), "dsl/too-deep"},
		"10,000 mappings in braces":    {strings.Repeat("{a: ", 10_000), "dsl/too-deep"},
		"10,000 entries in entries":    {strings.Repeat("- ", 10_000) + "a", "dsl/too-deep"},
		"10,000 keys in keys":          {strings.Repeat("? ", 10_000) + "a", "dsl/too-deep"},
		"1,000 levels of indentation":  {repeated(600_000, indent), "dsl/too-deep"},
		"mixed levels":                 {strings.Repeat("- a:\n", 1) + strings.Repeat("  [{a: ", 5_000), "dsl/too-deep"},
		"levels by aliases":            {tower, "dsl/too-deep"},
		"alias bomb":                   {bomb, "dsl/alias"},
		"merge bomb":                   {merges, "dsl/alias"},
		"alias in its anchor":          {"a: &a [*a]\n", "dsl/alias"},
		"alias of a large text":        {"a: &a '" + strings.Repeat("x", 200_000) + "'\nb: [" + strings.Repeat("*a, ", 1000) + "*a]\n", "dsl/alias"},
		"NUL":                          {head + "  a: { value: \"\x00\" }\n", "dsl/control-character"},
		"only NUL":                     {strings.Repeat("\x00", 100_000), "dsl/control-character"},
		"not UTF-8":                    {head + "  a: { value: \xc3\x28 }\n", "dsl/encoding"},
		"overlong UTF-8":               {head + "  a: { value: \xc0\x80 }\n", "dsl/encoding"},
		"UTF-16":                       {"\xfe\xff\x00d\x00s\x00l", "dsl/encoding"},
		"tabs":                         {"dsl: wovyr/v1\n\tname: a\n", "dsl/syntax"},
		"a million tabs":               {strings.Repeat("\t", million), "dsl/empty"},
		"a million blanks":             {strings.Repeat(" ", million) + "a", "dsl/type"},
		"a million lines":              {strings.Repeat("\n", million), "dsl/too-large"},
		"half a million commas":        {"a: [" + strings.Repeat(",", 1<<19) + "]", "dsl/too-large"},
		"numbers in one line":          {head + "  a: { value: [" + repeated(500_000, line("1,")) + "1] }", ""},
		"a key of a million bytes":     {strings.Repeat("k", million) + ": 1\n", "dsl/key"},
		"a text of a million bytes":    {"name: '" + strings.Repeat("x", million) + "'\n", "dsl/too-large"},
		"a word of a million bytes":    {"a: " + strings.Repeat("x", million) + "\n", "dsl/too-large"},
		"a number of 100,000 digits":   {head + "  a: { value: " + strings.Repeat("9", 100_000) + " }\n", "dsl/number"},
		"a fraction of 100,000 digits": {head + "  a: { value: 0." + strings.Repeat("9", 100_000) + " }\n", ""},
		"a huge exponent":              {head + "  a: { value: 1e999999999 }\n", "dsl/number"},
		"a huge duration":              {head + "  a: { timer: { for: " + strings.Repeat("9", 1000) + "d } }\n", "dsl/value"},
		"a huge size":                  {head + "  a: { function: f, limits: { max_memory: 999999999999GiB } }\n", "dsl/value"},
		"a huge count":                 {head + "  a: { loop: { max: 9223372036854775807, steps: { b: { value: 1 } } } }\n", "dsl/range"},
		"anchors":                      {repeated(900_000, line("- &a x\n")), "dsl/type"},
		"tags":                         {repeated(900_000, line("- !!binary x\n")), "dsl/tag"},
		"a tag of a million bytes":     {"a: !" + strings.Repeat("x", million) + " 1", "dsl/tag"},
		"an anchor of a million bytes": {"a: &" + strings.Repeat("x", million) + " 1", "dsl/unknown-word"},
		"comments":                     {strings.Repeat("# x\n", 200_000), "dsl/empty"},
		"documents":                    {strings.Repeat("--- 1\n", 100_000), "dsl/many-documents"},
		"equal keys":                   {repeated(400_000, line("a: 1\n")), "dsl/duplicate-key"},
		"20,000 keys":                  {repeated(300_000, func(i int) string { return fmt.Sprintf("k%d: 1\n", i) }), "dsl/unknown-word"},
		"20,000 steps":                 {head + repeated(500_000, func(i int) string { return fmt.Sprintf("  s%d: { value: 1 }\n", i) }), "dsl/limit"},
		"bodies in bodies":             {head + nested(20), "dsl/limit"},
		"needs on needs": {head + repeated(900_000, func(i int) string {
			return "  s" + fmt.Sprint(i) + ": { value: 1, needs: [" + strings.Repeat("a, ", 900) + "a] }\n"
		}), "dsl/conflict"},
		"a JSON Schema of 5,000 values": {head + "  a: { function: f, output: { schema: { anyOf: [" + strings.Repeat("{}, ", 5_000) + "{}] } } }\n", "dsl/limit"},
		"a thousand large JSON Schemas": {head + repeated(250_000, func(i int) string {
			return fmt.Sprintf("  s%d: { function: f, output: { schema: { anyOf: [%s{const: %d}] } } }\n", i, strings.Repeat("{},", 1_900), i)
		}), "dsl/limit"},
		"a regular expression that grows": {head + "  a: { function: f, output: { schema: { pattern: '" + strings.Repeat("(a{1000}){1000}", 50) + "' } } }\n", "dsl/schema"},
		"a million quotes":                {strings.Repeat("'", million), "dsl/too-large"},
		"a million stars":                 {strings.Repeat("*", million), "dsl/syntax"},
		"a million ampersands":            {strings.Repeat("&", million), "dsl/empty"},
		"a million percent signs":         {strings.Repeat("%", million), "dsl/syntax"},
		"a misspelt word of 200 bytes":    {strings.Repeat("timeout", 30) + ": 1\n", "dsl/unknown-word"},
		"expressions in one line":         {`{"dsl":"wovyr/v1","name":"a","steps":{"s":{"value":[` + repeated(500_000, line(`"é${input.x}",`)) + `1]}}}`, ""},
		"expressions over lines":          {head + "  a:\n    value:\n" + repeated(700_000, line("      - 'x\n        ${ input.y }'\n")), ""},
	}
}

// nested makes bodies inside each other.
func nested(levels int) string {
	return "  a: " + strings.Repeat("{ group: { steps: { a: ", levels) + "{ value: 1 }" + strings.Repeat(" } } }", levels) + "\n"
}

func TestHostileTexts(t *testing.T) {
	for name, test := range hostileTexts() {
		t.Run(name, func(t *testing.T) {
			data := []byte(test.text)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			def, list := Compile("hostile.yaml", data)
			runtime.ReadMemStats(&after)

			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(320<<20), "bytes allocated")
			require.LessOrEqual(t, len(list), maxDiagnostics+1)
			size := 0
			codes := map[string]bool{}
			for _, d := range list {
				size += len(d.Message) + len(d.Suggestion) + len(d.Pointer)
				codes[d.Code] = true
			}
			require.Less(t, size, 400_000, "bytes of diagnostics")
			require.Equal(t, test.code != "", def == nil, "%v", list)
			if test.code != "" {
				require.True(t, codes[test.code], "want %s: %v", test.code, list[:min(3, len(list))])
			}
		})
	}
}
