package expr

import (
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/parser"
)

// maxNesting is how deep expressions may nest.
const maxNesting = 200

// grammar is CEL's. Macros are not expanded by the parser: the builder makes nodes of them, so that they are
// checked, bounded and located like everything else.
var grammar = mustParser(
	parser.EnableOptionalSyntax(true),
	parser.MaxRecursionDepth(maxNesting),
	parser.ExpressionSizeCodePointLimit(MaxSource),
	parser.ErrorRecoveryLimit(1),
	parser.ErrorReportingLimit(3),
)

func mustParser(options ...parser.Option) *parser.Parser {
	p, err := parser.NewParser(options...)
	if err != nil {
		panic(err)
	}
	return p
}

// parse reads one expression.
func parse(src string) (*ast.AST, *failure) {
	switch {
	case len(src) > MaxSource:
		return nil, failf(CodeCost, "the expression has %d bytes; %d are allowed", len(src), MaxSource).
			or("split it over several value steps, or use a script step")
	case !utf8.ValidString(src):
		return nil, failf(CodeSyntax, "the expression is not valid UTF-8")
	case strings.TrimSpace(src) == "":
		return nil, failf(CodeSyntax, "the expression is empty").or("write a value, such as input.total > 0")
	case strings.IndexByte(src, 0) >= 0:
		return nil, failf(CodeSyntax, "the expression holds a NUL character")
	}
	tree, errs := grammar.Parse(common.NewTextSource(src))
	if found := errs.GetErrors(); len(found) > 0 {
		return nil, syntaxFailure(src, first(found))
	}
	return tree, nil
}

// first is the leftmost error; later ones mostly follow from it.
func first(errs []*common.Error) *common.Error {
	best := errs[0]
	for _, e := range errs[1:] {
		if l, m := e.Location, best.Location; l.Line() < m.Line() || l.Line() == m.Line() && l.Column() < m.Column() {
			best = e
		}
	}
	return best
}

// syntaxFailure says in plain words what the parser reports.
func syntaxFailure(src string, e *common.Error) *failure {
	msg := strings.TrimPrefix(e.Message, "Syntax error: ")
	if strings.Contains(msg, "recursion") {
		return failf(CodeCost, "the expression nests deeper than %d, or is a chain of more operators", maxNesting).
			or("use parentheses to group a long chain, or a list with join() or sum()")
	}
	at := place{from: offsetOf(src, e.Location)}
	token, rest := quoted(msg)
	at.length = int32(utf8.RuneCountInString(token))
	if name, ok := strings.CutPrefix(msg, "reserved identifier: "); ok {
		at.length = int32(len(name))
		return failf(CodeSyntax, "%s is a reserved word of the expression language", name).or("choose another name").placed(at)
	}
	var x *failure
	switch {
	case strings.HasPrefix(msg, "missing '"):
		x = failf(CodeSyntax, "%s is missing", token)
		at.length = 0
	case token == "<EOF>" || int(at.from) >= utf8.RuneCountInString(src):
		x = failf(CodeSyntax, "the expression ends too early")
		at.length = 0
	case strings.HasPrefix(msg, "token recognition error"):
		x = failf(CodeSyntax, "%q has no meaning here", strings.TrimSpace(token))
	case strings.HasPrefix(msg, "mismatched input"), strings.HasPrefix(msg, "extraneous input"), strings.HasPrefix(msg, "no viable alternative"):
		x = failf(CodeSyntax, "%q is not expected here", token)
		if strings.HasSuffix(rest, "expecting <EOF>") {
			x = failf(CodeSyntax, "%q follows a complete expression", token)
		}
	case msg == "invalid int literal", msg == "invalid uint literal":
		x = failf(CodeSyntax, "the int is too large").or("write a double, as 1e20")
		return x.placed(at)
	case msg == "invalid double literal":
		x = failf(CodeSyntax, "the double is too large")
	default:
		x = failf(CodeSyntax, "%s", msg)
	}
	return x.or("%s", syntaxHint(src, token, at)).placed(at)
}

func syntaxHint(src, token string, at place) string {
	if inner := strings.TrimSpace(src); strings.HasPrefix(inner, "{{") || strings.HasPrefix(inner, "{") && strings.HasPrefix(token, "}") && !strings.Contains(inner, ":") {
		return "leave the braces {{ }} out: an expression stands in ${ … }, or by itself where nothing else can stand"
	}
	before := strings.TrimSpace(string([]rune(src)[:at.from]))
	switch {
	case syntaxHints[token] != "":
		return syntaxHints[token]
	case before == "not" || strings.HasSuffix(before, " not"):
		return syntaxHints["not"]
	case token == "" || token[0] != '"' && token[0] != '\'':
		return ""
	case strings.Contains(token, "\\"):
		return `a backslash starts an escape: write it twice, or use r"…"`
	}
	return "close the string"
}

// syntaxHints name what people write who know other languages.
var syntaxHints = map[string]string{
	"=":   "write == to compare",
	"= ":  "write == to compare",
	"and": "write && for and",
	"or":  "write || for or",
	"not": "write ! for not",
	"& ":  "write && for and",
	"&":   "write && for and",
	"| ":  "write || for or",
	"|":   "write || for or",
	"$":   "leave the $ out: names stand without it, and no ${ … } inside another",
	"%}":  "an expression stands in ${ … }",
	";":   "an expression is one value; leave the semicolon out",
	"if":  "write condition ? a : b",
}

// quoted returns the first text in single quotes of a parser message, and what follows it.
func quoted(msg string) (token, rest string) {
	_, after, ok := strings.Cut(msg, "'")
	if !ok {
		if strings.Contains(msg, "<EOF>") && !strings.HasSuffix(msg, "expecting <EOF>") {
			return "<EOF>", ""
		}
		return "", msg
	}
	for _, end := range []string{"' expecting", "' at "} {
		if i := strings.Index(after, end); i >= 0 {
			return after[:i], after[i+1:]
		}
	}
	return strings.TrimSuffix(after, "'"), ""
}

// offsetOf is the character offset of a location.
func offsetOf(src string, at common.Location) int32 {
	if at.Line() < 1 {
		return 0
	}
	offset := 0
	for range at.Line() - 1 {
		line, rest, ok := strings.Cut(src, "\n")
		if !ok {
			break
		}
		offset += utf8.RuneCountInString(line) + 1
		src = rest
	}
	return int32(offset + at.Column())
}
