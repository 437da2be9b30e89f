package secret

// Text masks a text that comes in pieces, wherever they are cut: it holds back what may be the beginning of a secret. It is not safe for
// concurrent use.
type Text struct {
	mask   func() *Mask
	rest   []byte // held back
	hidden int    // bytes at the beginning of rest that a label already stands for
}

// NewText makes a Text. mask gives the mask as it is when a piece comes.
func NewText(mask func() *Mask) *Text { return &Text{mask: mask} }

// Add takes the next piece, and returns what is masked of the text since the last call. A text that is cut may end here: what is held back is
// left out then.
func (t *Text) Add(piece []byte) string {
	t.rest = append(t.rest, piece...)
	m := t.mask()
	limit := len(t.rest)
	if !m.empty() {
		s := string(t.rest)
		for limit = max(0, len(s)-m.longest+1); limit < len(s) && !m.unfinished(s[limit:]); {
			limit++
		}
	}
	return t.take(m, limit)
}

// End returns what is masked of all that was held back.
func (t *Text) End() string { return t.take(t.mask(), len(t.rest)) }

// take masks the first n bytes of what is there.
func (t *Text) take(m *Mask, n int) string {
	hidden := min(t.hidden, n)
	left := t.hidden - hidden
	out := t.rest[hidden:n]
	if !m.empty() {
		out, left = m.cover(nil, string(t.rest), t.hidden, n)
	}
	text := string(out)
	t.rest, t.hidden = append(t.rest[:0], t.rest[n:]...), left
	return text
}
