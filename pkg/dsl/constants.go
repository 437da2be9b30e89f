package dsl

import (
	"cmp"
	"errors"
	"strings"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// maxConstants bounds how many expressions of a document are evaluated while it is checked, since each may use up what one
// evaluation is allowed.
const maxConstants = 32

// nothing is an activation for expressions that read nothing.
func nothing() *expr.Activation {
	return expr.NewActivation(func(string) (expr.Binding, bool) { return expr.Binding{}, false })
}

// checkConstant evaluates an expression that reads nothing: if it fails, it always does.
func (a *analysis) checkConstant(s *site) {
	if len(s.reads) > 0 || s.like || s.exprProgram == nil && s.template == nil || a.constants == maxConstants {
		return
	}
	a.constants++
	err := s.evaluate()
	var failure *workflow.Error
	if !errors.As(err, &failure) {
		return
	}
	message, suggestion, _ := strings.Cut(failure.Message, "; ")
	a.siteError(s, s.at(), 0, issueCode(failure.Code), cmp.Or(suggestion, fallbackHints[failure.Code]), "this always fails: %s", message)
}

// evaluate evaluates a site that reads nothing, to what it has to yield.
func (s *site) evaluate() (err error) {
	switch x := s.exprProgram; {
	case x != nil && s.want == wantBool:
		_, err = x.EvalBool(nothing())
	case x != nil && s.want == wantCount:
		_, err = x.EvalInt(nothing())
	case x != nil:
		_, err = x.EvalDuration(nothing())
	case s.want == wantTime:
		_, err = s.template.RenderTime(nothing())
	case s.want == wantList:
		_, err = s.template.RenderList(nothing())
	case s.want == wantText:
		_, err = s.template.RenderString(nothing())
	default:
		_, err = s.template.Render(nothing())
	}
	return err
}
