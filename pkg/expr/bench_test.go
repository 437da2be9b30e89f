package expr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// BenchmarkEval is what a decision pays for one expression: load the program, bind names, decode what is read, evaluate.
func BenchmarkEval(b *testing.B) {
	small := mustCanonical(b, testInput)
	var items []string
	for i := range 2000 {
		items = append(items, fmt.Sprintf(`{"sku":"A-%d","qty":%d,"price":%d.5,"text":"%s"}`, i, i%7, i, strings.Repeat("x", 50)))
	}
	large := mustCanonical(b, `{"id":"o-1","items":[`+strings.Join(items, ",")+`],"z":{"last":true}}`)
	for _, bench := range []struct {
		src   string
		input workflow.Value
	}{
		{"input.total > 1000", small},
		{"input.total > 1000 && input.customer.address.city == 'London'", small},
		{"input.items.map(i, i.qty * i.price).sum()", small},
		{"{'shipment': input.name, 'items': input.items}", small},
		{"input.z.last", large},
		{"input.items[1999].sku", large},
		{"input.items.filter(i, i.qty > 3).map(i, i.price).sum()", large},
	} {
		b.Run(fmt.Sprintf("%s of %d bytes", bench.src, len(bench.input)), func(b *testing.B) {
			x := &workflow.Expr{Source: bench.src}
			b.ReportAllocs()
			for b.Loop() {
				e, err := Load(x)
				if err != nil {
					b.Fatal(err)
				}
				act := NewActivation(func(string) (Binding, bool) { return OfValue(bench.input), true })
				if _, err := e.Eval(act); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	scope := testScope(b)
	for _, src := range []string{"input.total > 1000", "input.items.filter(i, i.qty > 3).map(i, i.price).sum() > input.total * 2"} {
		b.Run(src, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p := newProgram(src)
				_, found := check(p, scope, nil)
				if len(found.list) > 0 {
					b.Fatal(found.list)
				}
			}
		})
	}
}

func BenchmarkRender(b *testing.B) {
	tpl := &workflow.Template{JSON: mustCanonical(b, `{"method":"POST","url":"https://pay.example/charges/${ input.name }",
		"headers":{"Authorization":"Bearer ${ secrets.pay }"},"body":{"amount":"${ input.total }","items":"${ input.items }","fixed":{"a":[1,2,3]}}}`)}
	input := mustCanonical(b, testInput)
	b.ReportAllocs()
	for b.Loop() {
		t, err := LoadTemplate(tpl)
		require.NoError(b, err)
		act := NewActivation(func(string) (Binding, bool) { return OfValue(input), true })
		if _, err := t.Render(act); err != nil {
			b.Fatal(err)
		}
	}
}
