package webhook

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// deliveryHeaders hold what senders call a delivery; a repeat of it has the same.
var deliveryHeaders = []string{"Webhook-Id", "Svix-Id", "Idempotency-Key", "X-GitHub-Delivery", "X-Gitlab-Event-UUID", "X-Shopify-Webhook-Id", "Ce-Id"}

// maxID is the most bytes of a delivery's ID that stand as they are.
const maxID = 200

// Delivery is the ID of a delivery: what its sender calls it. Senders that sign a time say it in what they sign (bodyIDs, signedIDs), and nothing else counts
// there, or whoever kept a request could make new deliveries of it; any other says it in one of the usual headers. Without any, own is
// false, and the ID is that of all requests with this body.
func Delivery(v workflow.Verify, h http.Header, body []byte) (id string, own bool) {
	form := textproto.CanonicalMIMEHeaderKey(v.Header)
	names := deliveryHeaders
	if timed[form] {
		names = signedIDs[form]
	}
	for _, name := range names {
		if id = h.Get(name); id != "" {
			return short(id), true
		}
	}
	if id = inBody(bodyIDs[form], body); id != "" {
		return short(id), true
	}
	return hash(string(body)), false
}

// timed are the signatures that sign a time too, so that a request which somebody kept is soon worth nothing.
var timed = map[string]bool{"Stripe-Signature": true, "Webhook-Signature": true, "Svix-Signature": true, "X-Slack-Signature": true}

// signedIDs are the headers that these sign with the body, and bodyIDs the members of the body that tell deliveries apart.
var (
	signedIDs = map[string][]string{"Webhook-Signature": {"Webhook-Id"}, "Svix-Signature": {"Svix-Id"}}
	bodyIDs   = map[string]string{"Stripe-Signature": "id", "X-Slack-Signature": "event_id"}
)

// inBody is a text that a body of JSON has under a name; "" without one.
func inBody(name string, body []byte) (text string) {
	var members map[string]json.RawMessage
	if name == "" || json.Unmarshal(body, &members) != nil || json.Unmarshal(members[name], &text) != nil {
		return ""
	}
	return text
}

func short(id string) string {
	if len(id) <= maxID && utf8.ValidString(id) {
		return id
	}
	return hash(id)
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// typeHeaders hold what senders call the event.
var typeHeaders = []string{"X-GitHub-Event", "X-Gitlab-Event", "X-Event-Key", "X-Shopify-Topic", "Ce-Type"}

// EventType is what the sender calls the event, by one of the usual headers; "" without any. Where a time is signed, a header that is not says nothing:
// those senders name the event in the body.
func EventType(v workflow.Verify, h http.Header) string {
	if timed[textproto.CanonicalMIMEHeaderKey(v.Header)] {
		return ""
	}
	for _, name := range typeHeaders {
		if t := h.Get(name); t != "" && len(t) <= maxID && utf8.ValidString(t) {
			return t
		}
	}
	return ""
}

// Value is what a body says, as JSON: JSON as it is; a form as an object of texts, with lists where a name stands more than once; any other
// text as a text, and bytes that are none as their base64; nothing as null. Without a content type, JSON is recognized.
func Value(contentType string, body []byte) (json.RawMessage, error) {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil && contentType != "" {
		kind = "" // a header that is none
	}
	switch {
	case len(body) == 0:
		return json.RawMessage("null"), nil
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		if !json.Valid(body) {
			return nil, fmt.Errorf("webhook: the content type is %s, and the body is not JSON", kind)
		}
		return body, nil
	case kind == "application/x-www-form-urlencoded":
		return form(string(body))
	case kind == "" && json.Valid(body):
		return body, nil
	case utf8.Valid(body):
		return json.Marshal(string(body))
	}
	return json.Marshal(base64.StdEncoding.EncodeToString(body))
}

func form(body string) (json.RawMessage, error) {
	values, err := url.ParseQuery(body)
	if err != nil {
		return nil, fmt.Errorf("webhook: the body is not a form: %w", err)
	}
	out := make(map[string]any, len(values))
	for name, list := range values { // order-free: a map again
		if out[name] = any(list); len(list) == 1 {
			out[name] = list[0]
		}
	}
	return json.Marshal(out)
}
