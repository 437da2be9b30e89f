package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// ErrRefused says that a request does not prove who sent it. It does not say more, to nobody: what is wrong helps those who guess.
var ErrRefused = errors.New("webhook: the sender is not who he must be")

// Tolerance is how far the time that a sender signed may be from now.
const Tolerance = 5 * time.Minute

// Verify checks that the sender of a request knows a secret, in constant time. The error is ErrRefused.
//
// Bearer: the Authorization header is "Bearer" and the secret. HMACSHA256: the header holds the signature of the body as it came, in hex
// or base64, with or without "sha256=" before it. By their names these headers have the form of their senders, which sign a time too, so
// that a request which somebody kept is refused when Tolerance is over:
//
//   - Stripe-Signature: t=TIME,v1=HEX of "TIME.BODY"; several v1 may stand there.
//   - Webhook-Signature and Svix-Signature (Standard Webhooks): "v1,BASE64" of "ID.TIME.BODY", several with spaces between; ID and TIME in the
//     headers beside it. A secret that begins with whsec_ is base64.
//   - X-Slack-Signature: v0=HEX of "v0:TIME:BODY", TIME in X-Slack-Request-Timestamp.
func Verify(v workflow.Verify, secret string, h http.Header, body []byte, now time.Time) error {
	if secret == "" || !proven(v, secret, h, body, now) {
		return ErrRefused
	}
	return nil
}

func proven(v workflow.Verify, secret string, h http.Header, body []byte, now time.Time) bool {
	if v.Bearer != "" {
		scheme, token, _ := strings.Cut(h.Get("Authorization"), " ")
		return strings.EqualFold(scheme, "Bearer") && same([]byte(strings.TrimSpace(token)), []byte(secret))
	}
	value := h.Get(v.Header)
	switch name := textproto.CanonicalMIMEHeaderKey(v.Header); name {
	case "Stripe-Signature":
		return stripe(value, secret, body, now)
	case "Webhook-Signature", "Svix-Signature":
		return standard(strings.TrimSuffix(name, "Signature"), value, secret, h, body, now)
	case "X-Slack-Signature":
		at := h.Get("X-Slack-Request-Timestamp")
		return recent(at, now) && signed([]byte(secret), decoded(strings.TrimPrefix(value, "v0=")), "v0:", at, ":", string(body))
	}
	return signed([]byte(secret), decoded(strings.TrimPrefix(value, "sha256=")), string(body))
}

func stripe(value, secret string, body []byte, now time.Time) bool {
	at, ok := "", false
	for part := range strings.SplitSeq(value, ",") {
		if t, is := strings.CutPrefix(strings.TrimSpace(part), "t="); is {
			at = t
		}
	}
	for part := range strings.SplitSeq(value, ",") {
		if s, is := strings.CutPrefix(strings.TrimSpace(part), "v1="); is {
			ok = signed([]byte(secret), decoded(s), at, ".", string(body)) || ok
		}
	}
	return ok && recent(at, now)
}

func standard(prefix, value, secret string, h http.Header, body []byte, now time.Time) bool {
	key := []byte(secret)
	if text, coded := strings.CutPrefix(secret, "whsec_"); coded {
		var err error
		if key, err = base64.StdEncoding.DecodeString(text); err != nil {
			return false
		}
	}
	id, at, ok := h.Get(prefix+"Id"), h.Get(prefix+"Timestamp"), false
	for part := range strings.FieldsSeq(value) {
		if s, is := strings.CutPrefix(part, "v1,"); is {
			ok = signed(key, decoded(s), id, ".", at, ".", string(body)) || ok
		}
	}
	return ok && recent(at, now)
}

// recent reports whether a time in seconds since 1970 is about now.
func recent(at string, now time.Time) bool {
	seconds, err := strconv.ParseInt(at, 10, 64)
	return err == nil && now.Sub(time.Unix(seconds, 0)).Abs() <= Tolerance
}

// signed compares a signature with that of some texts, one after the other.
func signed(key, signature []byte, texts ...string) bool {
	mac := hmac.New(sha256.New, key)
	for _, t := range texts {
		mac.Write([]byte(t))
	}
	return hmac.Equal(mac.Sum(nil), signature)
}

// decoded is a signature in hex or base64; nil if it is neither.
func decoded(text string) []byte {
	if b, err := hex.DecodeString(text); err == nil {
		return b
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return b
}

// same compares texts of any length in constant time.
func same(a, b []byte) bool {
	x, y := sha256.Sum256(a), sha256.Sum256(b)
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
