package dsl

import "testing"

func TestReferencePageIsCurrent(t *testing.T) {
	requireGolden(t, "../../docs/language.md", string(Reference()))
}
