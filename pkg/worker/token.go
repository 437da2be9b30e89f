package worker

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Tokens signs and checks the tokens that answers of callbacks come with: each names one attempt and is worth nothing for another.
type Tokens struct {
	// Key is secret, at least 32 bytes.
	Key []byte
}

// ErrToken refuses a token that was not signed with the key.
var ErrToken = errors.New("worker: the callback token is not valid")

type tokenBody struct {
	Tenant    string `json:"t"`
	Execution string `json:"e"`
	workflow.AttemptRef
}

// Sign makes the token of an attempt.
func (k Tokens) Sign(s eventstore.Stream, ref workflow.AttemptRef) (string, error) {
	body, err := json.Marshal(tokenBody{s.Tenant, s.ID, ref})
	if err != nil {
		return "", fmt.Errorf("worker: token: %w", err)
	}
	text := base64.RawURLEncoding.EncodeToString(body)
	return text + "." + base64.RawURLEncoding.EncodeToString(k.mac(text)), nil
}

// Check returns the attempt that a token names, or ErrToken.
func (k Tokens) Check(token string) (eventstore.Stream, workflow.AttemptRef, error) {
	text, mac, _ := strings.Cut(token, ".")
	given, err := base64.RawURLEncoding.DecodeString(mac)
	if err != nil || !hmac.Equal(given, k.mac(text)) {
		return eventstore.Stream{}, workflow.AttemptRef{}, ErrToken
	}
	body, err := base64.RawURLEncoding.DecodeString(text)
	var b tokenBody
	if err != nil || json.Unmarshal(body, &b) != nil {
		return eventstore.Stream{}, workflow.AttemptRef{}, ErrToken
	}
	return eventstore.Stream{Tenant: b.Tenant, ID: b.Execution}, b.AttemptRef, nil
}

func (k Tokens) mac(text string) []byte {
	h := hmac.New(sha256.New, k.Key)
	h.Write([]byte("wovyr callback 1\n" + text))
	return h.Sum(nil)
}
