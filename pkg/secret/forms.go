package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
)

// minLine is the least number of bytes of a line of a value that is a secret by itself.
const minLine = 8

// forms lists how a value may stand in a text: as it is, escaped, encoded, and one of these inside another, as in a JSON text
// within a JSON text or in an Authorization header of base64 that is logged in a URL. A value of several lines, such as a private key, is
// also each of its lines, and one that is JSON each of its texts and numbers.
func forms(value string) []string {
	var all []string
	for _, v := range parts(value) {
		plain := append([]string{v}, jsonForms(v)...)
		all = append(all, plain...)
		for _, p := range plain {
			coded := encodings(p)
			all = append(all, coded...)
			all = append(all, escapes(p)...)
			for _, c := range coded {
				all = append(all, escapes(c)...)
			}
		}
	}
	return all
}

func parts(value string) []string {
	all := []string{value}
	if trimmed := strings.TrimSpace(value); len(trimmed) >= MinLength {
		all = append(all, trimmed)
	}
	if lines := strings.Split(value, "\n"); len(lines) > 1 {
		for _, line := range lines {
			if line = strings.TrimSpace(line); len(line) >= minLine {
				all = append(all, line)
			}
		}
	}
	if json.Valid([]byte(value)) {
		dec := json.NewDecoder(strings.NewReader(value))
		dec.UseNumber()
		var v any
		if dec.Decode(&v) == nil {
			all = leaves(all, v)
		}
	}
	return all
}

// leaves adds the texts and numbers in a JSON value that are long enough; a number as it stands and as Go writes it.
func leaves(all []string, v any) []string {
	switch v := v.(type) {
	case string:
		if len(v) >= MinLength {
			all = append(all, v)
		}
	case json.Number:
		written := []string{v.String()}
		if f, err := v.Float64(); err == nil {
			written = append(written, marshal(f), strconv.FormatFloat(f, 'f', -1, 64))
		}
		for _, n := range written {
			if len(n) >= MinLength {
				all = append(all, n)
			}
		}
	case []any:
		for _, item := range v {
			all = leaves(all, item)
		}
	case map[string]any:
		for _, item := range v { // order-free: forms are a set
			all = leaves(all, item)
		}
	}
	return all
}

// jsonForms are the insides of JSON strings, as encoders differ: Go's with and without its escapes for HTML, those that
// write ASCII only, those that escape the slash; and Go's own quoting, which its errors use.
func jsonForms(v string) []string {
	plain := inner(quote(v))
	once := []string{plain, inner(marshal(v)), ascii(plain), strings.ReplaceAll(plain, "/", `\/`)}
	all := append(once, inner(strconv.Quote(v)), inner(strconv.QuoteToASCII(v)))
	for _, form := range once { // a JSON text in a JSON text
		all = append(all, inner(quote(form)), inner(marshal(form)))
	}
	return all
}

// marshal writes a string or a finite number as encoding/json does unless it is told otherwise.
func marshal(v any) string {
	b, _ := json.Marshal(v) // these always can be
	return string(b)
}

func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// ascii escapes all but ASCII as \uXXXX.
func ascii(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
	}
	return b.String()
}

// encodings are base64, at each of the three alignments that it can have within a longer text, and hexadecimal.
func encodings(v string) []string {
	all := []string{hex.EncodeToString([]byte(v)), strings.ToUpper(hex.EncodeToString([]byte(v)))}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			text := enc.EncodeToString(append(make([]byte, before), v...))
			// Digits that also hold bits of what stands before and behind are not the value's own.
			first := (before*8 + 5) / 6
			last := (before + len(v)) * 8 / 6
			if first < last {
				all = append(all, text[first:last])
			}
		}
	}
	return all
}

// escapes are those of URLs and of HTML.
func escapes(v string) []string {
	var all []string
	for _, s := range []string{url.QueryEscape(v), url.PathEscape(v), component(v), form(v), url.UserPassword("", v).String()[1:]} {
		all = append(all, s, lowerPercent(s))
	}
	return append(all, html.EscapeString(v))
}

// component is JavaScript's encodeURIComponent.
func component(v string) string { return percent(v, "-_.!~*'()") }

// form escapes all that RFC 3986 does not call unreserved.
func form(v string) string { return percent(v, "-_.~") }

func percent(v, keep string) string {
	var b strings.Builder
	for i := range len(v) {
		switch c := v[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte(keep, c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// lowerPercent writes the digits of percent escapes in lower case.
func lowerPercent(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(string(b[i+1:i+3])))
			i += 2
		}
	}
	return string(b)
}
