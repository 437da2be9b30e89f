package graph

import (
	"unicode"
	"unicode/utf8"
)

// How many characters a line of a picture holds; the whole text is in the tooltip, where the format has one.
const (
	maxNameText   = 40
	maxDetailText = 44
	maxEdgeText   = 36
)

// clip shortens a line to n characters.
func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// charWidths are the widths of the characters from space to tilde in Helvetica and Arial, in thousandths of the font's size.
var charWidths = [...]int{
	278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, // space to /
	556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, // 0 to ?
	1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, // @ to O
	667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, // P to _
	333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, // ` to o
	556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584, // p to ~
}

// textWidth estimates how wide a text is drawn, in pixels. It errs to the wide side.
func textWidth(s string, fontSize int, bold bool) int {
	sum := 0
	for _, r := range s {
		switch {
		case ' ' <= r && r <= '~':
			sum += charWidths[r-' ']
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case r >= 0x1100: // East Asian scripts, emoji, other symbols
			sum += 1050
		default:
			sum += 680
		}
	}
	if bold {
		sum = sum * 108 / 100
	}
	return (sum*fontSize + 999) / 1000
}
