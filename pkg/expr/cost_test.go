package expr

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// nest wraps an expression n times: each % of pattern is the expression inside.
func nest(n int, pattern, inner string) string {
	for range n {
		inner = strings.ReplaceAll(pattern, "%", inner)
	}
	return inner
}

// bombs are expressions that would need more time or memory than there is.
var bombs = map[string]string{
	"range":              `range(1000000000)`,
	"range largest":      `range(-9223372036854775807, 9223372036854775807)`,
	"lists.range":        `lists.range(9223372036854775807)`,
	"nested loops":       `range(3000).map(a, range(3000).map(b, a * b))`,
	"deep loops":         nest(12, `range(10).map(x, %)`, "1"),
	"loops of all":       nest(12, `range(10).all(x, %)`, "true"),
	"loops of exists":    nest(12, `range(10).exists(x, %)`, "false"),
	"transformMap":       `range(1000).transformMap(i, a, range(1000).transformMap(j, b, a + b))`,
	"string doubling":    nest(60, `cel.bind(s, %, s + s)`, "'0123456789'"),
	"bytes doubling":     nest(60, `cel.bind(s, %, s + s)`, "b'0123456789'"),
	"list doubling":      nest(60, `cel.bind(l, %, l + l)`, "[1]"),
	"shared lists":       nest(60, `cel.bind(l, %, [l, l])`, "[1]") + " == " + nest(60, `cel.bind(l, %, [l, l])`, "[1]"),
	"shared in json":     `json.encode(` + nest(60, `cel.bind(l, %, [l, l])`, "[1]") + `)`,
	"shared in distinct": `[` + nest(60, `cel.bind(l, %, [l, l])`, "[1]") + `].distinct()`,
	"shared in flatten":  nest(60, `cel.bind(l, %, [l, l])`, "[1]") + `.flatten(100)`,
	"shared in in":       nest(60, `cel.bind(l, %, [l, l])`, "[1]") + ` in [` + nest(60, `cel.bind(l, %, [l, l])`, "[1]") + `]`,
	"shared in format":   `'%s'.format([` + nest(60, `cel.bind(l, %, [l, l])`, "[1]") + `])`,
	"replace":            `cel.bind(s, range(20000).map(x, 'a').join(), s.replace('a', s))`,
	"replace empty":      `cel.bind(s, range(20000).map(x, 'a').join(), s.replace('', s))`,
	"join":               `cel.bind(s, range(20000).map(x, 'a').join(), range(20000).map(x, '').join(s))`,
	"join of join":       `range(3000).map(x, range(3000).map(y, 'abc').join())`,
	"split":              `range(100000).map(x, range(1000).map(y, 'a').join().split(''))`,
	"matches":            `cel.bind(s, range(100000).map(x, 'a').join(), range(1000).all(i, !s.matches('(a*)*b|(a|aa)+c')))`,
	"large pattern":      `'a'.matches('` + strings.Repeat("(a|b|c){100}", 40) + `')`,
	"many patterns":      `range(100000).map(i, 'aaa'.matches('[a-z]{500}' + string(i)))`,
	"long dynamic":       `cel.bind(s, range(10000).map(x, 'a').join(), 'a'.matches(s))`,
	"sort":               `range(1000000).sort()`,
	"sort texts":         `cel.bind(s, range(20000).map(x, 'a').join(), range(20000).map(i, s + string(i)).sort())`,
	"sortBy":             `range(400000).sortBy(x, -x)`,
	"distinct":           `range(100000).map(x, range(100)).distinct()`,
	"sets":               `sets.contains(range(600000), range(600000))`,
	"in":                 `range(5000).all(x, x in range(5000))`,
	"in again":           `cel.bind(l, range(100000), l.all(x, x in l))`,
	"reverse":            `range(100000).all(i, range(1000).reverse().size() == 1000)`,
	"reverse text":       `cel.bind(s, range(100000).map(x, 'é').join(), range(1000).map(i, s.reverse()))`,
	"substring":          `cel.bind(s, range(100000).map(x, 'é').join(), range(100000).map(i, s.substring(i)))`,
	"size of text":       `cel.bind(s, range(100000).map(x, 'é').join(), range(1000000).all(i, s.size() > 0))`,
	"indexOf":            `cel.bind(s, range(100000).map(x, 'a').join(), range(100000).all(i, s.indexOf('b') < 0))`,
	"compare texts":      `cel.bind(s, range(100000).map(x, 'a').join(), range(100000).all(i, s + 'a' == s + 'a'))`,
	"format":             `range(1000000).map(i, '%.100f %.100f %.100f'.format([1.5, 1.5, 1.5]))`,
	"format time":        `range(1000000).map(i, format_time(timestamp(0), 'January January January January', 'Asia/Tokyo'))`,
	"quote":              `cel.bind(s, range(100000).map(x, '"').join(), range(1000).map(i, strings.quote(s)))`,
	"json decode":        `cel.bind(s, range(1000000).map(x, '[]').join(','), json.decode('[' + s + ']'))`,
	"json deep":          `json.decode(range(100000).map(x, '[').join())`,
	"json again":         `range(10000).map(i, json.decode(json.encode(range(1000))))`,
	"base64":             `range(1000000).map(i, base64.encode('xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'))`,
	"url.encode":         `range(1000000).map(i, url.encode('//////////////////////////////////////////////////'))`,
	"sha256":             `cel.bind(s, range(100000).map(x, 'a').join(), range(10000).map(i, sha256(s)))`,
	"uuid":               `range(1000000).map(i, uuid(string(i)))`,
	"merge":              `range(3000).map(i, merge({'a': 1}, range(3000).transformMap(j, v, v)))`,
	"entries":            `range(10000).map(i, entries(range(1000).transformMap(j, v, v)))`,
	"keys":               `cel.bind(m, range(10000).transformMapEntry(i, v, {string(v): v}), range(10000).map(i, keys(m)))`,
	"take":               `cel.bind(s, range(100000).map(x, 'é').join(), range(100000).map(i, take(s, i)))`,
	"coalesce":           nest(12, `range(10).map(x, coalesce(null, null, %))`, "1"),
	"sum":                `range(1000000).all(i, range(1000).sum() > 0)`,
	"min":                `range(1000000).all(i, range(1000).max() > 0)`,
	"flatten":            `range(1000).map(i, range(1000)).flatten().map(x, x)`,
	"large result":       `range(1000000)`,
	"large text result":  `range(300000).map(i, '0123456789abcdef').join()`,
}

// TestBombs evaluates expressions that have no bound but ours: each ends in an error that can be caught, having asked for
// little memory. How long they take shows with -v.
func TestBombs(t *testing.T) {
	for name, src := range bombs {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			e, issues := Compile(src, workflow.Position{Line: 1, Column: 1}, nil)
			if e == nil {
				require.Equal(t, CodeCost, issues[0].Code)
				return
			}
			_, err := e.Eval(testActivation(t))
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			require.Error(t, err)
			code := err.(*workflow.Error).Code
			require.Contains(t, []string{CodeCost, CodeTooLarge, CodeRange}, code)
			mib := (after.TotalAlloc - before.TotalAlloc) >> 20
			require.Less(t, mib, uint64(200), "MiB allocated")
			t.Logf("%s, %v, %d MiB", code, took.Round(time.Millisecond/10), mib)
		})
	}
}
