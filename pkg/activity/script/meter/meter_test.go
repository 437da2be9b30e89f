package meter_test

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wovyr/wovyr/pkg/activity/script/meter"
)

// module assembles a module from sections, each its number and its bytes.
func module(sections ...[]byte) []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range sections {
		out = append(append(out, s[0], byte(len(s)-1)), s[1:]...)
	}
	return out
}

func section(id byte, parts ...any) []byte {
	out := []byte{id}
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			out = append(out, byte(p))
		case string:
			out = append(append(out, byte(len(p))), p...)
		case []byte:
			out = append(append(out, byte(len(p))), p...)
		}
	}
	return out
}

// one is a module with one function, main, of a body: (i32) -> i32, a global and a memory.
func one(body ...byte) []byte {
	return module(
		section(1, 1, 0x60, 1, 0x7f, 1, 0x7f), section(3, 1, 0), section(5, 1, 0, 1), section(6, 1, 0x7f, 1, 0x41, 0, 0x0b),
		section(7, 1, "main", 0, 0), section(10, 1, append([]byte{0}, body...)),
	)
}

// host is an engine with a Tick that counts.
func host(t testing.TB) (wazero.Runtime, *int) {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	ticks := 0
	_, err := r.NewHostModuleBuilder(meter.Module).NewFunctionBuilder().WithFunc(func() { ticks++ }).Export(meter.Tick).Instantiate(ctx)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close(ctx)) })
	return r, &ticks
}

func start(t testing.TB, r wazero.Runtime, original []byte) api.Module {
	t.Helper()
	m, err := meter.Rewrite(original)
	require.NoError(t, err)
	in, err := r.InstantiateWithConfig(context.Background(), m.Module, wazero.NewModuleConfig().WithName(""))
	require.NoError(t, err)
	return in
}

// sum counts down from its argument: loop { s += n; n--; br_if n }, with the sum in the global.
var sum = one(0x03, 0x40, 0x23, 0, 0x20, 0, 0x6a, 0x24, 0, 0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b, 0x23, 0, 0x0b)

func TestTicks(t *testing.T) {
	r, ticks := host(t)
	in := start(t, r, sum)
	out, err := in.ExportedFunction("main").Call(context.Background(), 10)
	require.NoError(t, err)
	require.Equal(t, uint64(55), out[0])
	require.Zero(t, *ticks)
	_, err = in.ExportedFunction("main").Call(context.Background(), 10*meter.Every)
	require.NoError(t, err)
	require.Equal(t, 10, *ticks)
}

// TestCallsCount: a function that only calls itself is counted, too.
func TestCallsCount(t *testing.T) {
	r, ticks := host(t)
	// if n == 0 { return 1 }; return main(n-1) + main(n-1)
	in := start(t, r, one(0x20, 0, 0x45, 0x04, 0x40, 0x41, 1, 0x0f, 0x0b, 0x20, 0, 0x41, 1, 0x6b, 0x10, 0, 0x20, 0, 0x41, 1, 0x6b, 0x10, 0, 0x6a, 0x0b))
	out, err := in.ExportedFunction("main").Call(context.Background(), 16)
	require.NoError(t, err)
	require.Equal(t, uint64(1<<16), out[0])
	require.Equal(t, (1<<17-1)/meter.Every, *ticks)
}

// TestRenumbers: imports, exports, start, tables and references of functions still mean the same functions.
func TestRenumbers(t *testing.T) {
	ctx := context.Background()
	r, _ := host(t)
	var calls []uint32
	_, err := r.NewHostModuleBuilder("env").NewFunctionBuilder().WithFunc(func(v uint32) { calls = append(calls, v) }).Export("note").Instantiate(ctx)
	require.NoError(t, err)
	note := func(n byte) []byte { return []byte{0, 0x41, n, 0x10, 0, 0x0b} }
	in := start(t, r, module(
		section(1, 3, 0x60, 1, 0x7f, 0, 0x60, 0, 0, 0x60, 0, 1, 0x70),
		section(2, 1, "env", "note", 0, 0),
		section(3, 5, 1, 1, 1, 1, 2),
		section(4, 1, 0x70, 0, 4),
		section(6, 1, 0x70, 0, 0xd2, 2, 0x0b), // a reference to function 2
		section(7, 2, "indirect", 0, 4, "direct", 0, 3),
		section(8, 1), // start: function 1
		section(9, 2, 0, 0x41, 0, 0x0b, 2, 2, 3, 4, 0x41, 2, 0x0b, 1, 0xd2, 1, 0x0b),
		section(10, 5, note(1), note(2), note(3), []byte{0, 0x41, 0, 0x11, 1, 0, 0x41, 2, 0x11, 1, 0, 0x10, 2, 0x0b}, []byte{0, 0xd2, 2, 0x0b}),
	))
	require.Equal(t, []uint32{1}, calls)
	_, err = in.ExportedFunction("direct").Call(ctx)
	require.NoError(t, err)
	_, err = in.ExportedFunction("indirect").Call(ctx)
	require.NoError(t, err)
	require.Equal(t, []uint32{1, 3, 2, 1, 2}, calls)
}

func TestRefused(t *testing.T) {
	for name, m := range map[string][]byte{
		"no module":                     []byte("hello"),
		"cut":                           sum[:len(sum)-3],
		"reaches for the counter":       one(0x41, 0, 0x24, 1, 0x41, 0, 0x0b),
		"reads the counter":             one(0x23, 1, 0x0b),
		"exports the counter":           module(section(6, 1, 0x7f, 1, 0x41, 0, 0x0b), section(7, 1, "c", 3, 1)),
		"imports the tick":              module(section(1, 1, 0x60, 0, 0), section(2, 1, "wovyr", "tick", 0, 0)),
		"imports a memory":              module(section(2, 1, "env", "m", 2, 0, 1)),
		"imports a global":              module(section(2, 1, "env", "g", 3, 0x7f, 0)),
		"table that grows":              one(0xd0, 0x70, 0x41, 1, 0xfc, 15, 0, 0x0b),
		"tail call":                     one(0x20, 0, 0x12, 0, 0x0b),
		"exception":                     one(0x08, 0, 0x0b),
		"atomic":                        one(0xfe, 0, 0, 0, 0x0b),
		"relaxed vectors, unknown misc": one(0xfc, 18, 0x0b),
		"shared memory":                 module(section(5, 1, 3, 1, 1)),
		"two memories":                  module(section(5, 2, 0, 1, 0, 1)),
		"section twice":                 module(section(5, 1, 0, 1), section(5, 1, 0, 1)),
		"section of exceptions":         module(section(13, 0)),
		"more functions than bodies":    module(section(1, 1, 0x60, 0, 0), section(3, 2, 0, 0), section(10, 1, []byte{0, 0x0b})),
		"number without end":            module(section(1, 0xff, 0xff, 0xff, 0xff, 0xff, 1)),
	} {
		_, err := meter.Rewrite(m)
		require.Error(t, err, name)
	}
	// What is left to the engine: a function that does not exist must not become one that was added.
	r, _ := host(t)
	for _, f := range []byte{1, 2, 3} {
		m, err := meter.Rewrite(one(0x20, 0, 0x10, f, 0x0b))
		require.NoError(t, err)
		_, err = r.CompileModule(context.Background(), m.Module)
		require.Error(t, err, "function %d", f)
	}
}

// FuzzRewrite: nothing panics, and what the engine takes as it is, it takes rewritten, or Rewrite says why not.
func FuzzRewrite(f *testing.F) {
	f.Add(sum)
	f.Add(one(0x20, 0, 0x0b))
	if engine, err := os.ReadFile("../quickjs/quickjs.wasm"); err == nil {
		f.Add(engine[:4096])
	}
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithMemoryLimitPages(16))
	f.Fuzz(func(t *testing.T, original []byte) {
		m, err := meter.Rewrite(original)
		if err != nil {
			return
		}
		if bytes.Equal(m.Module, original) {
			t.Fatal("nothing was added")
		}
		before, err := r.CompileModule(ctx, original)
		if err != nil {
			return
		}
		defer before.Close(ctx)
		after, err := r.CompileModule(ctx, m.Module)
		if err != nil {
			t.Fatalf("%v: %x", err, original)
		}
		_ = after.Close(ctx)
	})
}
