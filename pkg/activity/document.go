package activity

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// CodeTooLarge is the code of the error for a value that does not fit into memory where it would have to.
const CodeTooLarge = "payload.too_large"

// Document is a JSON value of which some places may be kept in the payload store: JSON holds null there, and Parts says how
// to read what belongs there. So a large value passes through a worker without being held in its memory.
type Document struct {
	JSON  json.RawMessage
	Parts []Part
}

// Part is one place of a Document that is kept elsewhere.
type Part struct {
	// At is the RFC 6901 JSON pointer of the place; "" is the whole document.
	At string
	// Size is in bytes.
	Size int64
	// Open returns the JSON text of the part.
	Open func(ctx context.Context) (io.ReadCloser, error)
}

// NewDocument is a document without parts.
func NewDocument(json json.RawMessage) Document { return Document{JSON: json} }

// IsZero reports whether there is no document at all.
func (d Document) IsZero() bool { return len(d.JSON) == 0 && len(d.Parts) == 0 }

// Size is the length of the whole text in bytes, about: that of the skeleton and of all parts.
func (d Document) Size() int64 {
	n := int64(len(d.JSON))
	for _, p := range d.Parts {
		n += p.Size
	}
	return n
}

// WriteText writes the whole JSON text to w, streaming the parts. An absent document is written as null.
func (d Document) WriteText(ctx context.Context, w io.Writer) error {
	if len(d.Parts) == 0 {
		_, err := w.Write(d.text())
		return err
	}
	return d.splice(w, func(p Part) error {
		r, err := p.Open(ctx)
		if err != nil {
			return fmt.Errorf("activity: open the part at %q: %w", p.At, err)
		}
		defer r.Close()
		_, err = io.Copy(w, r)
		return err
	})
}

// Whole returns the document with its parts filled in, or an *Error, payload.too_large, if they have more than MaxInline bytes.
func (d Document) Whole(ctx context.Context) (Document, error) {
	if len(d.Parts) == 0 {
		return d, nil
	}
	if n := d.Size(); n > MaxInline {
		return Document{}, NewError(CodeTooLarge, "the value has %d bytes, more than the %d that are loaded into memory", n, int64(MaxInline))
	}
	var b bytes.Buffer
	if err := d.WriteText(ctx, &b); err != nil {
		return Document{}, err
	}
	return NewDocument(b.Bytes()), nil
}

// Decode decodes the document into v as encoding/json does, refusing unknown fields of structs. Parts that land in a field of type
// Document stay where they are; others are loaded, up to MaxInline in all. The error is an *Error: activity.input or
// payload.too_large.
func (d Document) Decode(ctx context.Context, v any) error {
	if whole, ok := v.(*Document); ok {
		*whole = d
		return nil
	}
	text := []byte(d.text())
	if len(d.Parts) > 0 {
		kept, err := d.keep(ctx, v)
		if err != nil {
			return err
		}
		defer kept.forget()
		text = kept.text
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return NewError(CodeInput, "the input does not fit: %s", describe(err))
	}
	return nil
}

func (d Document) text() json.RawMessage {
	if len(d.JSON) == 0 {
		return json.RawMessage("null")
	}
	return d.JSON
}

func describe(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Sprintf("%q is a %s, where %s is wanted", wrong.Field, wrong.Value, wrong.Type)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// kept is a document's text in which parts are loaded or stand as tokens that only Document.UnmarshalJSON understands.
type kept struct {
	text  []byte
	nonce string
}

// open holds the parts of documents that are being decoded, by nonce: encoding/json passes nothing but bytes to
// UnmarshalJSON. The nonce is random, so no input can name a part.
var open sync.Map

func (d Document) keep(ctx context.Context, v any) (*kept, error) {
	k := &kept{nonce: rand.Text()}
	open.Store(k.nonce, d.Parts)
	lazy := holdsDocument(reflect.TypeOf(v), map[reflect.Type]bool{})
	var b bytes.Buffer
	at := map[string]int{}
	for i, p := range d.Parts {
		at[p.At] = i
	}
	budget := int64(MaxInline)
	err := d.splice(&b, func(p Part) error {
		if lazy && landsInDocument(reflect.TypeOf(v), p.At) {
			fmt.Fprintf(&b, `{"%s":%d}`, k.nonce, at[p.At])
			return nil
		}
		if budget -= p.Size; budget < 0 {
			return NewError(CodeTooLarge, "the value at %q has %d bytes, more than the %d that are loaded into memory: take it as an activity.Document and stream it", p.At, p.Size, int64(MaxInline))
		}
		r, err := p.Open(ctx)
		if err != nil {
			return err
		}
		defer r.Close()
		_, err = io.Copy(&b, r)
		return err
	})
	if err != nil {
		k.forget()
		return nil, err
	}
	k.text = b.Bytes()
	return k, nil
}

func (k *kept) forget() { open.Delete(k.nonce) }

// UnmarshalJSON keeps the value as it stands, or the part that Decode left in its place.
func (d *Document) UnmarshalJSON(b []byte) error {
	var token map[string]int
	if len(b) < 64 && b[0] == '{' && json.Unmarshal(b, &token) == nil && len(token) == 1 {
		for nonce, i := range token {
			if parts, ok := open.Load(nonce); ok {
				p := parts.([]Part)[i]
				p.At = ""
				*d = Document{JSON: json.RawMessage("null"), Parts: []Part{p}}
				return nil
			}
		}
	}
	*d = Document{JSON: bytes.Clone(b)}
	return nil
}

// MarshalJSON writes a document without parts; one with parts must be streamed by WriteText.
func (d Document) MarshalJSON() ([]byte, error) {
	if len(d.Parts) > 0 {
		return nil, errors.New("activity: a document with parts is not marshalled but streamed, by WriteText")
	}
	return d.text(), nil
}

var documentType = reflect.TypeFor[Document]()

func holdsDocument(t reflect.Type, seen map[reflect.Type]bool) bool {
	if t == documentType {
		return true
	}
	if t == nil || seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return holdsDocument(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if holdsDocument(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

// landsInDocument follows a pointer through a Go type as encoding/json would.
func landsInDocument(t reflect.Type, pointer string) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == documentType {
		return true
	}
	if pointer == "" {
		return false
	}
	key, rest, _ := strings.Cut(pointer[1:], "/")
	if rest != "" {
		rest = "/" + rest
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return landsInDocument(t.Elem(), rest)
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				name = f.Name
			}
			if strings.EqualFold(name, unescape(key)) && f.IsExported() {
				return landsInDocument(f.Type, rest)
			}
		}
	}
	return false
}

func unescape(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}

// splice writes the skeleton to w and calls fill in place of each part.
func (d Document) splice(w io.Writer, fill func(Part) error) error {
	parts := make(map[string]Part, len(d.Parts))
	for _, p := range d.Parts {
		parts[p.At] = p
	}
	s := &splicer{dec: json.NewDecoder(bytes.NewReader(d.text())), w: w, parts: parts, fill: fill}
	s.dec.UseNumber()
	return s.value("")
}

type splicer struct {
	dec   *json.Decoder
	w     io.Writer
	parts map[string]Part
	fill  func(Part) error
}

func (s *splicer) value(at string) error {
	if p, ok := s.parts[at]; ok {
		var skipped json.RawMessage
		if err := s.dec.Decode(&skipped); err != nil {
			return err
		}
		return s.fill(p)
	}
	token, err := s.dec.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		return s.members(at, "{", "}", func() (string, error) {
			key, err := s.dec.Token()
			if err != nil {
				return "", err
			}
			name := key.(string)
			return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1"), s.scalar(name, ":")
		})
	case json.Delim('['):
		i := -1
		return s.members(at, "[", "]", func() (string, error) { i++; return strconv.Itoa(i), nil })
	}
	return s.scalar(token, "")
}

func (s *splicer) members(at, first, last string, key func() (string, error)) error {
	sep := first
	for s.dec.More() {
		if _, err := io.WriteString(s.w, sep); err != nil {
			return err
		}
		sep = ","
		k, err := key()
		if err != nil {
			return err
		}
		if err := s.value(at + "/" + k); err != nil {
			return err
		}
	}
	if sep == first {
		last = first + last
	}
	if _, err := s.dec.Token(); err != nil {
		return err
	}
	_, err := io.WriteString(s.w, last)
	return err
}

func (s *splicer) scalar(v any, after string) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = s.w.Write(append(b, after...))
	return err
}
