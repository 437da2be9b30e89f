package meter_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"

	"github.com/wovyr/wovyr/pkg/activity/script/meter"
)

func ExampleRewrite() {
	endless := one(0x03, 0x40, 0x0c, 0, 0x0b, 0x41, 0, 0x0b) // loop { br 0 }
	m, err := meter.Rewrite(endless)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	r := wazero.NewRuntime(ctx)
	defer r.Close(ctx)
	stop := errors.New("it has run for long enough")
	_, err = r.NewHostModuleBuilder(meter.Module).NewFunctionBuilder().WithFunc(func() { panic(stop) }).Export(meter.Tick).Instantiate(ctx)
	if err != nil {
		panic(err)
	}
	in, err := r.Instantiate(ctx, m.Module)
	if err != nil {
		panic(err)
	}
	_, err = in.ExportedFunction("main").Call(ctx, 0)
	fmt.Println(errors.Is(err, stop))
	// Output: true
}
