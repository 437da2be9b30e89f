package expr

// Fits reports whether a value of type t can be of one of the types of want: what is not known may turn out to be.
// A type that may be null fits, since null is a value of its own; Null alone fits too.
func (t *Type) Fits(want ...*Type) bool {
	for _, w := range want {
		if !disjoint(t, w) {
			return true
		}
	}
	return false
}
