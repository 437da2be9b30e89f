package script_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/activitytest"
	"github.com/wovyr/wovyr/pkg/activity/script"
	"github.com/wovyr/wovyr/pkg/workflow"
)

func TestJavaScriptContract(t *testing.T) {
	leak := func(name, text string) activitytest.Call {
		return activitytest.Call{Name: name, Target: js(text), With: map[string]any{"s": activitytest.Secret}}
	}
	activitytest.Run(t, func(*testing.T) activitytest.Subject {
		return activitytest.Subject{
			Kind:     kind,
			Succeeds: activitytest.Call{Target: js("return { sum: input.a + input.b, text: `${input.a}` }"), With: map[string]any{"a": 1, "b": 2}, Output: `{"sum":3,"text":"1"}`},
			Hangs:    activitytest.Call{Target: js("for (;;) ;")},
			Floods:   activitytest.Call{Target: js("return 'x'.repeat(1e6)")},
			Fails: []activitytest.Call{
				{Name: "no JavaScript", Target: js("return ("), Code: script.CodeSyntax},
				{Name: "throws", Target: js("throw new Error('no')"), Code: script.CodeError},
				{Name: "too much memory", Target: js("const a = []; for (;;) a.push(new Array(1e4).fill(1))"), Code: script.CodeMemory},
				{Name: "no JSON", Target: js("const a = {}; a.a = a; return a"), Code: script.CodeOutput},
				{Name: "own error", Target: js("throw { code: 'stock.empty', retryable: true }"), Code: "stock.empty", Retryable: true},
			},
			Leaks: []activitytest.Call{
				leak("error", "throw new Error(input.s + JSON.stringify(input) + encodeURIComponent(input.s))"),
				leak("details", "throw { code: 'a.b', details: { s: input.s, e: escape(input.s) } }"),
				leak("output", "return [input.s, JSON.stringify(input), encodeURIComponent(input.s)]"),
				leak("console", "console.log(input.s); console.error(input)"),
			},
			Without: map[string]string{activitytest.Keyed: "a script calls nobody"},
		}
	})
}

func TestModuleContract(t *testing.T) {
	do := func(name, do string, more map[string]any) activitytest.Call {
		with := map[string]any{"do": do}
		for k, v := range more { // order-free: it becomes a map
			with[k] = v
		}
		return activitytest.Call{Name: name, Target: wasm, With: with}
	}
	failing := func(c activitytest.Call, code string, retryable bool) activitytest.Call {
		c.Code, c.Retryable = code, retryable
		return c
	}
	secret := map[string]any{"text": activitytest.Secret, "n": 3}
	activitytest.Run(t, func(*testing.T) activitytest.Subject {
		succeeds := do("", "echo", map[string]any{"text": "abc"})
		succeeds.Output = `{"text":"abc","upper":"ABC"}`
		return activitytest.Subject{
			Kind: kind, Succeeds: succeeds, Hangs: do("", "loop", nil), Floods: do("", "flood", nil),
			Fails: []activitytest.Call{
				failing(do("exit code", "exit", map[string]any{"n": 3}), script.CodeError, false),
				failing(do("own error", "fail", nil), "stock.empty", true),
				failing(do("no JSON", "prose", nil), script.CodeOutput, false),
				failing(do("too much memory", "eat", nil), script.CodeMemory, false),
				{Name: "no file", Target: map[string]any{"wasm": "missing.wasm"}, Code: script.CodeSyntax},
				{Name: "outside", Target: map[string]any{"wasm": "../command.wasm"}, Code: script.CodeSyntax},
				{Name: "absolute", Target: map[string]any{"wasm": "/etc/passwd"}, Code: script.CodeSyntax},
				{Name: "no module", Target: map[string]any{"wasm": "prose.wasm"}, Code: script.CodeSyntax},
				{Name: "no start", Target: map[string]any{"wasm": "empty.wasm"}, Code: script.CodeSyntax},
				{Name: "foreign imports", Target: map[string]any{"wasm": "foreign.wasm"}, Code: script.CodeSyntax},
			},
			Leaks: []activitytest.Call{
				do("exit", "exit", secret), do("fail", "fail", secret), do("say", "say", secret), do("echo", "echo", secret),
			},
			Without: map[string]string{activitytest.Keyed: "a module calls nobody"},
		}
	})
}

func TestAnswers(t *testing.T) {
	for text, want := range map[string]string{
		"return input.a + 1": `42`,
		"return undefined":   `null`,
		"return () => 1":     `null`,
		"return new Date(0)": `"1970-01-01T00:00:00.000Z"`,
		"return new Date(2026, 0, 31, 12).getTimezoneOffset()": `0`,
		"return input.big": `12345678901234567890`,
		"return [input.big + 1n, typeof input.a, input.float]":                                             `[12345678901234567891,"number",0.1234567890123456]`,
		"return await Promise.all([1, Promise.resolve(2)])":                                                `[1,2]`,
		"const f = async () => { throw new Error('x') }\ntry { await f() } catch (e) { return e.message }": `"x"`,
		"const p = Promise.reject(1); p.catch(() => 0); return 3":                                          `3`,
		"return `${input.a}` + '${ input.a }'":                                                             `"41${ input.a }"`,
		"return input.text":                                                                                `"ä €  \" \u0000"`,
		"return eval('1 + 1') + new Function('return 3')()":                                                `5`,
		"return [...'a1b22'.matchAll(/\\d+/g)].map(m => m[0])":                                             `["1","22"]`,
	} {
		out, err := run(t.Context(), kind, js(text), json.RawMessage(`{"a":41,"big":12345678901234567890,"float":0.1234567890123456,"text":"ä €  \" \u0000"}`))
		require.NoError(t, err, text)
		require.JSONEq(t, want, out, text)
		if strings.Contains(text, "big") {
			require.Equal(t, want, out, "all digits: %s", text)
		}
	}
}

// TestPlaces: errors say where in the script they are, in its own lines and columns.
func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		text, code, says string
		line, column     int
	}{
		{"const x = 1\nreturn inptu.a", script.CodeError, "inptu is not defined", 2, 8},
		{"return input.a.b.c", script.CodeError, "TypeError", 1, 8},
		{"let a = 1;\n  let b = a +;", script.CodeSyntax, "SyntaxError", 2, 14},
		{"return 1 +", script.CodeSyntax, "SyntaxError", 1, 11},
		{"if (input) {\n  return 1", script.CodeSyntax, "SyntaxError", 2, 11},
		{"function f() {\n  throw new RangeError('deep')\n}\nf()", script.CodeError, "RangeError: deep", 2, 13},
		{"undeclared = 1", script.CodeError, "undeclared is not defined", 1, 1},
		{"await 0;\nawait (async () => { null.x })()", script.CodeError, "TypeError", 2, 22},
		{"const a = [];\nfor (;;)\n  a.push(new Array(1e4).fill(1))", script.CodeMemory, "64MiB", 0, 0},
		{"throw Object.assign(new Error('none'), { code: 'stock.empty' })", "stock.empty", "none", 1, 25},
		{"return Date.now()", script.CodeError, "no clock", 1, 13},
		{"return Math.random()", script.CodeError, "no randomness", 1, 13},
		{"Promise.reject(new Error('lost')); return 1", script.CodeError, "lost", 1, 20},
		{"const o = {}; o.o = o; return o", script.CodeOutput, "circular", 0, 0},
		{"await new Promise(() => {})", script.CodeError, "nothing will settle", 0, 0},
		{"throw 'plain'", script.CodeError, "it threw plain", 0, 0},
		{"throw null", script.CodeError, "it threw null", 0, 0},
		{"return import('fs')", script.CodeError, "could not load module", 0, 0},
	} {
		t.Run(c.text, func(t *testing.T) {
			e := fails(t, js(c.text), map[string]any{"a": 1})
			require.Equal(t, c.code, e.Code, e.Message)
			require.Equal(t, workflow.CategoryActivity, e.Category)
			require.Contains(t, e.Message, c.says)
			if c.line == 0 {
				return
			}
			var at struct{ Line, Column int }
			require.NoError(t, json.Unmarshal(e.Details, &at))
			require.Equal(t, [2]int{c.line, c.column}, [2]int{at.Line, at.Column}, e.Message)
			if c.code == script.CodeSyntax || c.code == script.CodeError {
				require.Contains(t, e.Message, fmt.Sprintf("(line %d, column %d: ", c.line, c.column))
			}
		})
	}
}

func TestOwnErrors(t *testing.T) {
	e := fails(t, js(`throw { code: 'card.declined', category: 'external', message: 'no', retryable: true, details: { bank: 7 } }`), nil)
	require.Equal(t, &activity.Error{Code: "card.declined", Category: workflow.CategoryExternal, Message: "no", Retryable: true, Details: workflow.Value(`{"bank":7}`)}, e)
	e = fails(t, js("const a = 1;\nthrow Object.assign(new Error('no stock left'), { code: 'stock.empty' })"), nil)
	require.Equal(t, "no stock left", e.Message, "as it was thrown")
	require.Contains(t, string(e.Details), `"line":2`)
	for _, odd := range []string{
		`throw { code: 7 }`, `throw { code: 'no code at all' }`, `throw { get code() { throw 1 } }`, `throw { code: '', details: 1 }`,
		`const e = new Error('x'); Object.defineProperty(e, 'message', { get() { throw 1 } }); throw e`,
		`throw new Proxy({}, { get() { throw new Error('trap') } })`, `throw Symbol('x')`, `throw function () {}`, `const e = {}; e.e = e; throw e`,
		`Error.prepareStackTrace = () => { throw 1 }; throw new Error('x')`, `const e = new Error('x'); e.stack = { toString() { throw 2 } }; throw e`,
		`Object.prototype.toJSON = () => { throw 1 }; throw { a: 1 }`, `Error[Symbol.hasInstance] = () => { throw 1 }; throw new Error('x')`,
	} {
		e := fails(t, js(odd), nil)
		require.Equal(t, script.CodeError, e.Code, odd)
		require.NotEmpty(t, e.Message, odd)
	}
}

func TestConsole(t *testing.T) {
	log := &logged{}
	_, err := run(t.Context(), kind, js(`console.log('a', { b: 1 }, input); console.warn(new Error('w')); console.error(1n); console.debug('quiet')`), "in", log.task)
	require.NoError(t, err)
	text := strings.Join(log.lines, "")
	require.Contains(t, text, `a {\"b\":1} in`)
	require.Contains(t, text, "level=WARN")
	require.Contains(t, text, "level=ERROR")
	require.NotContains(t, text, "quiet")

	log = &logged{}
	_, err = run(t.Context(), kind, js(`for (let i = 0; i < 1e5; i++) console.log('x'.repeat(100))`), nil, log.task)
	require.NoError(t, err)
	require.Less(t, len(strings.Join(log.lines, "")), 1<<20, "what a script logs is bounded")
	require.Contains(t, log.lines[len(log.lines)-1], "too much")

	log = &logged{}
	_, err = run(t.Context(), kind, wasm, map[string]any{"do": "say", "text": "one\ntwo"}, log.task)
	require.NoError(t, err)
	require.Len(t, log.lines, 2)
}

// TestRunsAreAlone: nothing that one run does is there in the next.
func TestRunsAreAlone(t *testing.T) {
	for range 3 {
		out, err := run(t.Context(), kind, js(`const was = [globalThis.x, Object.prototype.y, Array.prototype.map === undefined, JSON.z];
			globalThis.x = 1; Object.prototype.y = 2; JSON.z = 3; delete Array.prototype.map; Promise = null; return was.concat(0).join()`), nil)
		require.NoError(t, err)
		require.Equal(t, `",,false,,0"`, out)
	}
}

// TestSameResult: a script gives the same result each time, everywhere.
func TestSameResult(t *testing.T) {
	first := ""
	for range 3 {
		out, err := run(t.Context(), kind, js(`return [Object.keys({ b: 1, a: 2, 1: 3 }), [3, 1, 2].sort(), new Date(1e12).toString(), Math.sin(1), [...new Set('hello')].join('')]`), nil)
		require.NoError(t, err)
		if first == "" {
			first = out
		}
		require.Equal(t, first, out)
	}
}

func TestLimitsOfMemory(t *testing.T) {
	const fill = `const a = []; for (let i = 0; i < input; i++) a.push(new Uint8Array(1 << 20).fill(1)); return a.length`
	out, err := run(t.Context(), kind, js(fill), 10, memory(16<<20))
	require.NoError(t, err)
	require.Equal(t, `10`, out)
	e := fails(t, js(fill), 20, memory(16<<20))
	require.Equal(t, script.CodeMemory, e.Code)
	require.Contains(t, e.Message, "16MiB")

	e = fails(t, js(`return 1`), nil, memory(1<<20))
	require.Equal(t, script.CodeMemory, e.Code)
	require.Contains(t, e.Message, "starts with")
	e = fails(t, js(`return input.length`), strings.Repeat("x", 8<<20), memory(4<<20))
	require.Equal(t, script.CodeMemory, e.Code, "an input that does not fit")
	e = fails(t, wasm, map[string]any{"do": "nothing"}, memory(page))
	require.Equal(t, script.CodeMemory, e.Code)
	e = fails(t, js(`return 1`), nil, memory(2<<30))
	require.Equal(t, script.CodeMemory, e.Code)
	require.Contains(t, e.Message, "all scripts together")

	// What a script catches is its own affair, as long as it keeps to its memory.
	out, err = run(t.Context(), kind, js(`let a = []; try { for (;;) a.push(new Array(1e4).fill(1)) } catch (e) { a = null; return e.message }`), nil, memory(8<<20))
	require.NoError(t, err)
	require.Equal(t, `"out of memory"`, out)
}

const page = 64 << 10

// TestBombs: each would take the worker's time or memory, and is ended by the limit that it meets.
func TestBombs(t *testing.T) {
	for name, c := range map[string]struct {
		target map[string]any
		with   any
		codes  string
	}{
		"loop":                     {js(`for (;;) ;`), nil, script.CodeTimeout},
		"loop in a catch":          {js(`for (;;) try { throw 1 } catch {} finally { continue }`), nil, script.CodeTimeout},
		"recursion":                {js(`const f = () => f() + 1; return f()`), nil, script.CodeError},
		"caught recursion":         {js(`const f = () => { try { f() } finally { f() } }; f()`), nil, script.CodeTimeout + script.CodeError},
		"deep JSON":                {js(`let a = []; for (let i = 0; i < 1e6; i++) a = [a]; return a`), nil, script.CodeOutput + script.CodeMemory},
		"deep parse":               {js(`return JSON.parse('['.repeat(1e6))`), nil, script.CodeError},
		"deep source":              {js(`return eval('('.repeat(1e6))`), nil, script.CodeError},
		"regular expression":       {js(`return /^(a+)+$/.test('a'.repeat(60) + 'b')`), nil, script.CodeTimeout},
		"huge string":              {js(`let s = 'x'; for (;;) s = (s + s).toUpperCase()`), nil, script.CodeMemory + script.CodeError},
		"repeat":                   {js(`return 'x'.repeat(2 ** 29).split('')`), nil, script.CodeMemory},
		"sparse array":             {js(`return new Array(2 ** 32 - 1).fill(0)`), nil, script.CodeMemory + script.CodeTimeout},
		"native loop":              {js(`return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)`), nil, script.CodeTimeout},
		"join":                     {js(`return new Array(2 ** 32 - 1).join('x')`), nil, script.CodeMemory + script.CodeError + script.CodeTimeout},
		"big integer":              {js(`let n = 3n; for (;;) n *= n`), nil, script.CodeError + script.CodeMemory + script.CodeTimeout},
		"promises":                 {js(`const f = () => Promise.resolve().then(f); await f()`), nil, script.CodeTimeout + script.CodeMemory},
		"generator":                {js(`function* g() { for (;;) yield 1 } return [...g()]`), nil, script.CodeMemory},
		"getter":                   {js(`return { get a() { for (;;) ; } }`), nil, script.CodeTimeout},
		"error that loops":         {js(`throw { get code() { for (;;) ; } }`), nil, script.CodeTimeout},
		"sort that grows":          {js(`const a = [1, 2]; a.sort(() => { for (;;) a.push(1) })`), nil, script.CodeMemory},
		"proxies":                  {js(`let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); return p.x`), nil, script.CodeError + script.CodeMemory},
		"array buffer":             {js(`return new ArrayBuffer(2 ** 33)`), nil, script.CodeError + script.CodeMemory},
		"output":                   {js(`return 'x'.repeat(17 << 20)`), nil, activity.CodeOutput + script.CodeMemory},
		"closes its function":      {js(`}); for (;;) ; (function () {`), nil, script.CodeTimeout},
		"wasm loop":                {wasm, map[string]any{"do": "loop"}, script.CodeTimeout},
		"wasm recursion":           {wasm, map[string]any{"do": "recurse", "n": 64}, script.CodeTimeout},
		"wasm recursion, no loops": {map[string]any{"wasm": "climbs.wasm"}, nil, script.CodeTimeout},
		"wasm memory":              {wasm, map[string]any{"do": "eat"}, script.CodeMemory},
		"wasm output":              {wasm, map[string]any{"do": "flood"}, activity.CodeOutput},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := kind
			if strings.Contains(c.codes, script.CodeTimeout) {
				k = hurried()
			}
			out, err := run(t.Context(), k, c.target, c.with, memory(32<<20))
			require.Error(t, err, out)
			typed, _ := activity.AsError(t.Context(), err)
			require.Contains(t, c.codes, typed.Code, typed.Message)
		})
	}
}

// hurried is the kind with a short time for scripts.
var hurried = sync.OnceValue(func() activity.Kind {
	return script.New(script.Options{Dir: dir, Cache: cache, MaxTime: 500 * time.Millisecond})
})

// TestEscapes: there is no way out of the sandbox to look for.
func TestEscapes(t *testing.T) {
	out, err := run(t.Context(), kind, js(`
		const names = ['require', 'process', 'module', 'std', 'os', 'fetch', 'XMLHttpRequest', 'WebSocket', 'Deno', 'Bun', 'WebAssembly', 'Worker', 'setTimeout', 'setInterval',
			'print', 'load', 'loadScript', 'read', 'readFile', 'quit', 'scriptArgs', 'performance', 'crypto', 'gc', 'navigator', 'Atomics', 'input2'];
		const global = (0, eval)('this'), outer = (function () { return this }).constructor('return this')();
		return { found: names.filter(n => n in global), same: global === globalThis && outer === globalThis,
			std: await import('std').then(() => 1, () => 0) + await import('qjs:os').then(() => 1, () => 0),
			clock: [() => new Date(), () => Date.now(), () => Date(), () => new (new Date(0).constructor)(), () => Reflect.construct(Date, [])].map(f => { try { return String(f()) } catch (e) { return 0 } }),
			class: (() => { try { return String(new (class extends Date {})()) } catch { return 0 } })() }`), nil)
	require.NoError(t, err)
	require.JSONEq(t, `{"found":[],"same":true,"std":0,"clock":[0,0,0,0,0],"class":0}`, out)

	out, err = run(t.Context(), kind, wasm, map[string]any{"do": "look"})
	require.NoError(t, err)
	require.JSONEq(t, `{"env":[],"args":0,"root":"0 true","read":true,"write":true,"dial":true,"listen":true,"year":2022}`, out)
	out, err = run(t.Context(), kind, wasm, map[string]any{"do": "sleep"})
	require.NoError(t, err)
	require.Equal(t, `"slept"`, out, "a clock that stands goes on at once")
}

// TestManyAtOnce: what runs at once has no more memory together than allowed, and all get their turn.
func TestManyAtOnce(t *testing.T) {
	k := script.New(script.Options{Cache: cache, MaxMemory: 8 << 20, TotalMemory: 16 << 20})
	var all sync.WaitGroup
	results := make([]error, 40)
	for i := range results {
		all.Go(func() {
			out, err := run(t.Context(), k, js(`const a = []; for (let i = 0; i < 4; i++) a.push(new Uint8Array(1 << 20).fill(1)); return input`), i)
			if err == nil && out != fmt.Sprint(i) {
				err = fmt.Errorf("run %d answered %s", i, out)
			}
			results[i] = err
		})
	}
	all.Wait()
	for _, err := range results {
		require.NoError(t, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	busy := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := run(ctx, k, js(`for (;;) ;`), nil)
			busy <- err
		}()
	}
	waiting, stop := context.WithCancel(t.Context())
	waited := make(chan error)
	go func() {
		_, err := run(waiting, k, js(`for (;;) ;`), nil)
		waited <- err
	}()
	stop() // whether it waits in line or runs
	require.ErrorIs(t, <-waited, context.Canceled)
	cancel()
	require.ErrorIs(t, <-busy, context.Canceled)
	require.ErrorIs(t, <-busy, context.Canceled)
}

func TestSignsOfLife(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := run(ctx, kind, js(`for (;;) ;`), nil, func(t *activity.Task) { t.Beat = func(string) { cancel() } })
	require.ErrorIs(t, err, context.Canceled, "a running script beats by itself")
}
