package httpcall

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// content is the body of a request.
type content struct {
	bytes []byte
	kind  string // the content type; empty: there is no body
}

func (c content) reader() io.Reader {
	if c.kind == "" {
		return http.NoBody
	}
	return bytes.NewReader(c.bytes)
}

// content makes the body from the one word that says it.
func (b *block) content() (content, error) {
	given := 0
	for _, there := range []bool{!isNull(b.Body), b.Form != nil, b.Multipart != nil, b.Bytes != nil} {
		if there {
			given++
		}
	}
	switch {
	case given > 1:
		return content{}, wrong("a request has one body: leave one of body, form, multipart and bytes")
	case b.Form != nil:
		fields, err := values("form", b.Form)
		return content{[]byte(fields.Encode()), "application/x-www-form-urlencoded"}, err
	case b.Multipart != nil:
		return b.parts()
	case b.Bytes != nil:
		data, err := decodeBase64("bytes", *b.Bytes)
		return content{data, "application/octet-stream"}, err
	case isNull(b.Body):
		return content{}, nil
	}
	var text string
	if json.Unmarshal(b.Body, &text) == nil {
		return content{[]byte(text), "text/plain; charset=utf-8"}, nil
	}
	return content{b.Body, "application/json"}, nil
}

// part is one of a multipart body.
type part struct {
	Text        json.RawMessage `json:"text"`
	Bytes       *string         `json:"bytes"`
	Filename    string          `json:"filename"`
	ContentType string          `json:"content_type"`
}

func (b *block) parts() (content, error) {
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	for _, name := range sortedKeys(b.Multipart) {
		p, err := readPart(name, b.Multipart[name])
		if err != nil {
			return content{}, err
		}
		data, err := p.data(name)
		if err != nil {
			return content{}, err
		}
		head, err := p.header(name)
		if err != nil {
			return content{}, err
		}
		to, err := w.CreatePart(head)
		if err == nil {
			_, err = to.Write(data)
		}
		if err != nil {
			return content{}, wrong("multipart: %v", err)
		}
	}
	if err := w.Close(); err != nil {
		return content{}, wrong("multipart: %v", err)
	}
	return content{out.Bytes(), w.FormDataContentType()}, nil
}

func readPart(name string, text json.RawMessage) (part, error) {
	var p part
	if trimmed := bytes.TrimLeft(text, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		p.Text = text
		return p, nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil || (p.Text == nil) == (p.Bytes == nil) {
		return p, wrong("multipart: %s: write a text, or { text or bytes, filename, content_type }", quoted(name))
	}
	return p, nil
}

func (p part) data(name string) ([]byte, error) {
	if p.Bytes != nil {
		return decodeBase64("multipart: "+quoted(name)+": bytes", *p.Bytes)
	}
	text, _, err := scalarText("multipart: "+quoted(name), p.Text)
	return []byte(text), err
}

// header is that of a part. Names are escaped as browsers do it, so that none ends early.
func (p part) header(name string) (textproto.MIMEHeader, error) {
	h := textproto.MIMEHeader{}
	disposition := fmt.Sprintf(`form-data; name="%s"`, escapeName(name))
	kind := p.ContentType
	if p.Filename != "" {
		disposition += fmt.Sprintf(`; filename="%s"`, escapeName(p.Filename))
	}
	if kind == "" && (p.Filename != "" || p.Bytes != nil) {
		kind = "application/octet-stream"
	}
	h.Set("Content-Disposition", disposition)
	if kind != "" {
		if _, _, err := mime.ParseMediaType(kind); err != nil || !strings.Contains(kind, "/") || !httpguts.ValidHeaderFieldValue(kind) {
			return nil, wrong("multipart: %s: content_type: %s is no type of a content", quoted(name), quoted(kind))
		}
		h.Set("Content-Type", kind)
	}
	return h, nil
}

var nameEscapes = strings.NewReplacer(`"`, "%22", "\r", "%0D", "\n", "%0A")

func escapeName(name string) string { return nameEscapes.Replace(name) }

func decodeBase64(what, text string) ([]byte, error) {
	text = strings.TrimRight(strings.Map(func(r rune) rune {
		switch r {
		case '-':
			return '+'
		case '_':
			return '/'
		case '\r', '\n', ' ':
			return -1
		}
		return r
	}, text), "=")
	data, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return nil, wrong("%s: it is not base64: %v", what, err)
	}
	return data, nil
}

// values reads a mapping of texts, or lists of them, by name. What is null is left out.
func values(word string, fields map[string]json.RawMessage) (url.Values, error) {
	out := make(url.Values, len(fields))
	for name, text := range fields { // order-free: names are distinct
		var list []json.RawMessage
		if json.Unmarshal(text, &list) != nil {
			list = []json.RawMessage{text}
		}
		for _, item := range list {
			value, there, err := scalarText(word+": "+quoted(name), item)
			if err != nil {
				return nil, err
			}
			if there {
				out.Add(name, value)
			}
		}
	}
	return out, nil
}

// scalarText is a text, number or boolean as a text; there is false for null.
func scalarText(what string, text json.RawMessage) (value string, there bool, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return "", false, wrong("%s: it is no JSON", what)
	}
	switch v := v.(type) {
	case nil:
		return "", false, nil
	case string:
		return v, true, nil
	case bool:
		return strconv.FormatBool(v), true, nil
	case json.Number:
		return decimal(v), true, nil
	}
	return "", false, wrong("%s: it is a list or an object, where a text or a number is wanted", what)
}

// decimal is a number without an exponent, where that is a text of reasonable length.
func decimal(n json.Number) string {
	text := n.String()
	if !strings.ContainsAny(text, "eE") || len(text) > 40 {
		return text
	}
	f, _, err := big.ParseFloat(text, 10, 256, big.ToNearestEven)
	if err != nil || f.MantExp(nil) > 256 || f.MantExp(nil) < -256 {
		return text
	}
	return f.Text('f', -1)
}

func isNull(text json.RawMessage) bool { return len(text) == 0 || string(text) == "null" }

func sortedKeys(m map[string]json.RawMessage) []string { return slices.Sorted(maps.Keys(m)) }

// quoted shows a name that may be anything in an error.
func quoted(name string) string {
	if r := []rune(name); len(r) > 60 {
		name = string(r[:60]) + "…"
	}
	return strconv.Quote(name)
}
