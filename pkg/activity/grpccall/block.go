package grpccall

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/grpc/metadata"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/egress"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// targetSchema is the block `grpc` once its expressions are filled in, for people and tools; parse says more, and in plainer words.
var targetSchema = workflow.Value(`{
	"type": "object", "required": ["target", "method"], "additionalProperties": false,
	"properties": {
		"target": {"type": "string"}, "method": {"type": "string"}, "message": true,
		"metadata": {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean", "null"]}},
		"descriptors": {"type": "string"}, "plaintext": {"type": "boolean"},
		"tls": {"type": "object", "additionalProperties": false, "properties": {
			"ca": {"type": "string"}, "cert": {"type": "string"}, "key": {"type": "string"}, "min_version": {"enum": ["1.2", "1.3"]}, "server_name": {"type": "string"}}}
	}
}`)

// block is what a step says.
type block struct {
	Target      string                     `json:"target"`
	Method      string                     `json:"method"`
	Message     json.RawMessage            `json:"message"`
	Metadata    map[string]json.RawMessage `json:"metadata"`
	Descriptors string                     `json:"descriptors"`
	Plaintext   bool                       `json:"plaintext"`
	TLS         *egress.TLS                `json:"tls"`
}

var methodName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*/[A-Za-z_][A-Za-z0-9_]*$`)

// parse reads the block and checks it: what expressions made of it may be anything.
func parse(ctx context.Context, t *activity.Task) (*block, error) {
	b := &block{}
	if err := t.Target.Decode(ctx, b); err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(b.Target)
	if err != nil || host == "" || strings.ContainsAny(host, "/ %\x00") {
		return nil, wrong("target: %q is no host and port: write target: 'stock.example:443'", b.Target)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return nil, wrong("target: %q is no port: write target: 'stock.example:443'", port)
	}
	if !methodName.MatchString(b.Method) {
		return nil, wrong("method: %q is no method: write package.Service/Method", b.Method)
	}
	if b.Plaintext && b.TLS != nil {
		return nil, wrong("tls: there is none with plaintext: true: leave one of the two out")
	}
	if string(b.Message) == "null" || len(b.Message) == 0 {
		b.Message = json.RawMessage("{}")
	}
	return b, nil
}

func wrong(format string, args ...any) *activity.Error {
	return activity.NewError(activity.CodeInput, "grpc: "+format, args...)
}

// service and method are the parts of the method's name.
func (b *block) names() (service, method string) {
	service, method, _ = strings.Cut(b.Method, "/")
	return service, method
}

// where names the call in errors.
func (b *block) where() string { return b.Method + " at " + b.Target }

// idempotencyKey is the metadata that carries the key of the step, unless the step sets it itself.
const idempotencyKey = "idempotency-key"

var metadataName = regexp.MustCompile(`^[0-9a-z_.-]+$`)

// metadata is what goes with the call.
func (b *block) metadata(key string) (metadata.MD, error) {
	md := metadata.MD{}
	if key != "" {
		md.Set(idempotencyKey, key)
	}
	for given, v := range b.Metadata { // order-free: names are distinct but for their case, which is refused
		name := strings.ToLower(given)
		switch {
		case !metadataName.MatchString(name), strings.HasPrefix(name, "grpc-"), name == "content-type", name == "te", name == "user-agent":
			return nil, wrong("metadata: %q may not be set", given)
		case len(md[name]) > 0 && name != idempotencyKey:
			return nil, wrong("metadata: %q is there twice", name)
		case string(v) == "null":
			continue
		}
		text, err := metadataText(name, v)
		if err != nil {
			return nil, err
		}
		md.Set(name, text)
	}
	return md, nil
}

// metadataText is a value as it is sent: printable ASCII, or bytes where the name ends in -bin.
func metadataText(name string, v json.RawMessage) (string, error) {
	text := string(v) // a number is sent as it is written, to its last digit
	switch v[0] {
	case '"':
		if err := json.Unmarshal(v, &text); err != nil {
			return "", wrong("metadata: %q: %v", name, err)
		}
	case '{', '[':
		var b bytes.Buffer
		if err := json.Compact(&b, v); err != nil {
			return "", wrong("metadata: %q: %v", name, err)
		}
		text = b.String()
	}
	if strings.HasSuffix(name, "-bin") {
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return "", wrong("metadata: %q holds bytes, as its name ends in -bin: give them in base64", name)
		}
		return string(raw), nil
	}
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' {
			return "", wrong("metadata: the value of %q is not all printable ASCII: let the name end in -bin and give the value in base64", name)
		}
	}
	return text, nil
}

// connection names what makes a connection different from others; it holds secrets and is hashed.
func (b *block) connection() string {
	return fmt.Sprintf("%q %v %+q", b.Target, b.Plaintext, b.tlsTexts())
}

func (b *block) tlsTexts() []string {
	if b.TLS == nil {
		return nil
	}
	return []string{b.TLS.CA, b.TLS.Cert, b.TLS.Key, b.TLS.MinVersion, b.TLS.ServerName}
}
