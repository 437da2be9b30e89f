package fsm

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// side is the side of the arrays that a Machine looks transitions up in; no enum has a code of side or above.
const side = 16

// names are the wire names of one enum, by code. They are stable: stored histories and clients hold them. The
// name at 0 is empty; what the zero value means, each enum says itself.
type names struct {
	what string // "workflow state"
	list []string
}

func (n *names) last() uint8 { return uint8(len(n.list) - 1) }

// text returns the name of a code, or "None" for 0.
func (n *names) text(c uint8) string {
	if c == 0 {
		return "None"
	}
	return n.list[c]
}

func (n *names) parse(text string) (uint8, error) {
	if i := slices.Index(n.list, text); i > 0 {
		return uint8(i), nil
	}
	return 0, &ParseError{What: n.what, Text: fmt.Sprintf("%q", text), Known: slices.Clone(n.list[1:])}
}

// parseOrZero takes the empty text as the zero value.
func (n *names) parseOrZero(text []byte) (uint8, error) {
	if len(text) == 0 {
		return 0, nil
	}
	return n.parse(string(text))
}

// fromCode refuses codes below first and those that have no name.
func (n *names) fromCode(c, first uint8) (uint8, error) {
	if first <= c && c <= n.last() {
		return c, nil
	}
	return 0, &ParseError{What: n.what, Text: fmt.Sprintf("code %d", c), Known: slices.Clone(n.list[1:])}
}

// name returns the wire name of a state or event, "None" for the zero value.
func name[T interface {
	Code() uint8
	names() *names
}](v T) string {
	return v.names().text(v.Code())
}

// each yields the named values of an enum in the order of their codes.
func each[T any](n *names, of func(uint8) T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for c := uint8(1); c <= n.last(); c++ {
			if !yield(of(c)) {
				return
			}
		}
	}
}

// ParseError says that a text or code from outside is no member of an enum.
type ParseError struct {
	// What names the enum: "workflow state", "activity event".
	What string
	// Text is what was given: the quoted text, or "code 77".
	Text string
	// Known are the names that would have been accepted.
	Known []string
}

// Error names what was given and what may be written instead.
func (e *ParseError) Error() string {
	return fmt.Sprintf("fsm: %s is no %s: use one of %s", e.Text, e.What, strings.Join(e.Known, ", "))
}
