package httpcall

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/transform"

	"github.com/wovyr/wovyr/pkg/activity"
)

// Ways to read the body of an answer (`response`).
const (
	readAuto  = "auto"
	readJSON  = "json"
	readText  = "text"
	readBytes = "bytes"
)

// output makes {status, headers, body} of an answer. A large body is streamed, and the stream closes it.
func output(b *block, res *http.Response, safe func(string) string) (activity.Result, error) {
	head, err := json.Marshal(headersOf(res.Header))
	if err != nil {
		return activity.Result{}, wrong("%s: the headers of the answer: %v", b.where(), err)
	}
	before := fmt.Appendf(nil, `{"status":%d,"headers":%s,"body":`, res.StatusCode, head)

	first, err := io.ReadAll(io.LimitReader(res.Body, maxInMemory+1))
	if err != nil {
		return activity.Result{}, err
	}
	whole := len(first) <= maxInMemory
	if len(first) == 0 && (b.Response == "" || b.Response == readAuto || b.Method == http.MethodHead || res.StatusCode == http.StatusNoContent || res.StatusCode == http.StatusResetContent) {
		return activity.Result{Output: append(before, "null}"...)}, nil
	}
	way, charset := b.way(res.Header.Get("Content-Type"), first, whole)
	if way == readJSON {
		first = bytes.TrimPrefix(first, []byte("\ufeff"))
		if whole && !json.Valid(first) {
			return activity.Result{}, activity.NewError(activity.CodeOutput, "%s: the answer is not JSON, although %s; read it as it is by response: text (it begins: %.80q)",
				b.where(), b.because(), safe(string(first)))
		}
	}
	body := encode(way, charset, io.MultiReader(bytes.NewReader(first), rest(res.Body, whole)))
	all := io.MultiReader(bytes.NewReader(before), body, strings.NewReader("}"))
	if !whole {
		return activity.Result{Stream: readCloser{all, res.Body}}, nil
	}
	text, err := io.ReadAll(all)
	return activity.Result{Output: text}, err
}

type readCloser struct {
	io.Reader
	io.Closer
}

func rest(body io.Reader, whole bool) io.Reader {
	if whole {
		return strings.NewReader("")
	}
	return body
}

func (b *block) because() string {
	if b.Response == readJSON {
		return "the step says response: json"
	}
	return "its content type says so"
}

// way decides how a body is read, and by which charset if it is a text.
func (b *block) way(contentType string, first []byte, whole bool) (way, charset string) {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind, params = "", nil
	}
	charset = params["charset"]
	switch {
	case b.Response != "" && b.Response != readAuto:
		return b.Response, charset
	case kind == "application/json", kind == "text/json", strings.HasSuffix(kind, "+json"):
		return readJSON, charset
	case strings.HasPrefix(kind, "text/"), strings.HasSuffix(kind, "+xml"), textTypes[kind]:
		return readText, charset
	case kind != "":
		return readBytes, charset
	case whole && json.Valid(first):
		return readJSON, charset
	case utf8.Valid(first[:len(first)-unfinished(first)]):
		return readText, charset
	}
	return readBytes, charset
}

var textTypes = map[string]bool{
	"application/xml": true, "application/x-www-form-urlencoded": true, "application/javascript": true, "application/yaml": true,
	"application/x-yaml": true, "application/x-ndjson": true, "application/jsonl": true, "application/graphql": true, "application/sql": true,
}

// encode makes JSON of a body.
func encode(way, charset string, body io.Reader) io.Reader {
	switch way {
	case readJSON:
		return &oneValue{from: body}
	case readBytes:
		return newBase64(body)
	}
	if e, err := htmlindex.Get(charset); err == nil {
		body = transform.NewReader(body, e.NewDecoder())
	}
	return newQuote(body)
}

// headersOf are the headers of an answer by their names in lower case. Several of one name are joined by commas, cookies by line breaks.
func headersOf(h http.Header) map[string]string {
	out := make(map[string]string, len(h))
	for name, list := range h { // order-free: names are distinct
		sep := ", "
		if name == "Set-Cookie" {
			sep = "\n"
		}
		out[strings.ToLower(name)] = strings.ToValidUTF8(strings.Join(list, sep), "\uFFFD")
	}
	return out
}
