package expr

import (
	"regexp"
	"regexp/syntax"
)

// Bounds of regular expressions: RE2 needs time in proportion to its size.
const (
	maxPattern = 500
	maxStates  = 10_000
)

// regex is a compiled regular expression and its size.
type regex struct {
	*regexp.Regexp
	states int
}

func compileRegex(f *frame, text string) (*regex, *failure) {
	if len(text) > maxPattern {
		return nil, failf(CodeCost, "the regular expression has %d bytes; %d are allowed", len(text), maxPattern)
	}
	if bad := f.work(100 + 10*len(text)); bad != nil {
		return nil, bad
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, failf(CodeRange, "not a regular expression: %v", err).or(`a backslash is written twice in a text, or once in r"…"`)
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil || len(prog.Inst) > maxStates {
		return nil, failf(CodeCost, "the regular expression is too large").or("use smaller repetitions")
	}
	if bad := f.work(20 * len(prog.Inst)); bad != nil {
		return nil, bad
	}
	return &regex{regexp.MustCompile(text), len(prog.Inst)}, nil
}

// matches tests in time bounded by the product of the two sizes.
func (p *regex) matches(f *frame, s string) (any, *failure) {
	if bad := f.work(2 + len(s)*p.states/8); bad != nil {
		return nil, bad
	}
	return p.MatchString(s), nil
}

func callMatches(f *frame, args []any) (any, *failure) {
	s, bad := text(f, args[0])
	if bad != nil {
		return nil, bad
	}
	text, ok := args[1].(string)
	if !ok {
		return nil, wrong
	}
	p, bad := compileRegex(f, text)
	if bad != nil {
		return nil, bad
	}
	return p.matches(f, s)
}

// prepareMatches compiles a constant pattern once.
func prepareMatches(fn *function, args []node) (*function, *failure) {
	l, ok := args[1].(*literal)
	if !ok {
		return fn, nil
	}
	text, ok := l.val.(string)
	if !ok {
		return fn, nil
	}
	p, bad := compileRegex(newFrame(nil, 0), text)
	if bad != nil {
		return nil, bad.placed(l.place)
	}
	c := *fn
	c.call = func(f *frame, args []any) (any, *failure) {
		s, ok := args[0].(string)
		if !ok {
			return nil, wrong
		}
		return p.matches(f, s)
	}
	return &c, nil
}
