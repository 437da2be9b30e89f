package expr

// Braced returns the expression of a text that is one ${ … } and nothing else, without its braces and the white space
// in them; false for any other text. The expression may still be malformed.
func Braced(text string) (inner string, ok bool) {
	p, ok := single(text)
	return p.text, ok
}
