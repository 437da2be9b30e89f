package engine

import (
	"math"
	"time"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Evaluating expressions and templates of a definition. Each failure is an error that the workflow can catch.

// lazyActivation is an activation that is made when it is first needed: most steps need none.
type lazyActivation struct {
	x      *fold
	frame  *workflow.Frame
	extras []named
	made   *expr.Activation
}

func (l *lazyActivation) get() *expr.Activation {
	if l.made == nil {
		l.made = l.x.inFrame(l.frame, l.extras...)
	}
	return l.made
}

// evalBool evaluates a condition.
func evalBool(x *workflow.Expr, a *expr.Activation) (bool, *workflow.Error) {
	c, err := expr.Load(x)
	if err != nil {
		return false, exprError(err)
	}
	ok, err := c.EvalBool(a)
	if err != nil {
		return false, exprError(err)
	}
	return ok, nil
}

// render renders a template; nil renders to nothing. The result is at most MaxValue bytes.
func render(t *workflow.Template, a *lazyActivation) (workflow.Payload, *workflow.Error) {
	if t == nil {
		return workflow.Payload{}, nil
	}
	if isLiteral(t.JSON) {
		return workflow.Inline(t.JSON), nil
	}
	c, err := expr.LoadTemplate(t)
	if err != nil {
		return workflow.Payload{}, exprError(err)
	}
	p, err := c.Render(a.get())
	if err != nil {
		return workflow.Payload{}, exprError(err)
	}
	if err := expr.CheckSize(p, MaxValue); err != nil {
		return workflow.Payload{}, exprError(err)
	}
	return p, nil
}

// constant returns the value of a template without expressions.
func constant(t *workflow.Template) (workflow.Value, bool, *workflow.Error) {
	if isLiteral(t.JSON) {
		return t.JSON, true, nil
	}
	c, err := expr.LoadTemplate(t)
	if err != nil {
		return nil, false, exprError(err)
	}
	v, ok := c.Constant()
	return v, ok, nil
}

// isLiteral reports whether a JSON text can hold no expression and no escape of one.
func isLiteral(v workflow.Value) bool {
	for i := 0; i+1 < len(v); i++ {
		if v[i] == '$' {
			return false
		}
	}
	return true
}

// renderString renders a template to a text; nil is "".
func renderString(t *workflow.Template, a *lazyActivation) (string, *workflow.Error) {
	if t == nil {
		return "", nil
	}
	c, err := expr.LoadTemplate(t)
	if err != nil {
		return "", exprError(err)
	}
	s, err := c.RenderString(a.get())
	if err != nil {
		return "", exprError(err)
	}
	return s, nil
}

// duration evaluates a duration to nanoseconds; nil is 0. Negative ones count as 0, and none is over MaxDuration.
func duration(d *workflow.Duration, a *lazyActivation) (int64, *workflow.Error) {
	if d == nil {
		return 0, nil
	}
	if d.Expr == nil {
		return d.Fixed, nil
	}
	c, err := expr.Load(d.Expr)
	if err != nil {
		return 0, exprError(err)
	}
	v, err := c.EvalDuration(a.get())
	if err != nil {
		return 0, exprError(err)
	}
	return min(max(int64(v), 0), MaxDuration), nil
}

// count evaluates a whole number; nil is 0. It is never negative.
func count(n *workflow.Count, a *lazyActivation) (int, *workflow.Error) {
	if n == nil {
		return 0, nil
	}
	v := n.Fixed
	if n.Expr != nil {
		c, err := expr.Load(n.Expr)
		if err != nil {
			return 0, exprError(err)
		}
		if v, err = c.EvalInt(a.get()); err != nil {
			return 0, exprError(err)
		}
	}
	return int(min(max(v, 0), 1<<30)), nil
}

// instant is a time in nanoseconds since 1970 UTC, from 1 on; times before 1970 count as just after it, those beyond the
// range, in the year 2262, as its end.
func instant(t time.Time) int64 {
	switch sec := t.Unix(); {
	case sec < 0:
		return 1
	case sec > math.MaxInt64/int64(time.Second)-1:
		return math.MaxInt64
	}
	return max(t.UnixNano(), 1)
}

// deadline adds a duration to a time; a duration of 0 means that there is none.
func deadline(from, d int64) int64 {
	switch {
	case d <= 0:
		return 0
	case from > math.MaxInt64-d:
		return math.MaxInt64
	}
	return from + d
}
