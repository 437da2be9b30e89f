package httpcall

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"golang.org/x/net/http/httpguts"

	"github.com/wovyr/wovyr/pkg/activity"
)

// auth says how a call proves who makes it; one of its fields is set.
type auth struct {
	Basic  *basic  `json:"basic"`
	Bearer *string `json:"bearer"`
	OAuth2 *oauth  `json:"oauth2"`
	SigV4  *sigV4  `json:"sigv4"`
}

type basic struct {
	User     string `json:"user"`
	Password string `json:"password"`
}

// sigV4 signs requests as the services of AWS want it (Signature Version 4).
type sigV4 struct {
	Service      string `json:"service"`
	Region       string `json:"region"`
	AccessKey    string `json:"access_key"`
	SecretKey    string `json:"secret_key"`
	SessionToken string `json:"session_token"`
}

func (a *auth) check() error {
	if a == nil {
		return nil
	}
	given := 0
	for _, there := range []bool{a.Basic != nil, a.Bearer != nil, a.OAuth2 != nil, a.SigV4 != nil} {
		if there {
			given++
		}
	}
	switch {
	case given != 1:
		return wrong("auth: write one of basic, bearer, oauth2 and sigv4")
	case a.Bearer != nil && (*a.Bearer == "" || !httpguts.ValidHeaderFieldValue(*a.Bearer)):
		return wrong("auth: bearer: the token is empty, or has a control character (does the file of the secret hold more than the token?)")
	case a.OAuth2 != nil:
		return a.OAuth2.check()
	case a.SigV4 != nil:
		return a.SigV4.check()
	}
	return nil
}

func (s *sigV4) check() error {
	for word, value := range map[string]string{"service": s.Service, "region": s.Region, "access_key": s.AccessKey, "secret_key": s.SecretKey} { // order-free: one is enough
		if value == "" {
			return wrong("auth: sigv4: %s is missing", word)
		}
	}
	for word, value := range map[string]string{"service": s.Service, "region": s.Region, "access_key": s.AccessKey, "session_token": s.SessionToken} { // order-free: one is enough
		if !httpguts.ValidHeaderFieldValue(value) {
			return wrong("auth: sigv4: %s has a control character", word)
		}
	}
	return nil
}

// credentials are those of one try.
func (c *Caller) credentials(ctx context.Context, t *activity.Task, b *block) (credentials, error) {
	switch a := b.Auth; {
	case a == nil:
		return credentials{}, nil
	case a.Basic != nil:
		return credentials{authorize: func(r *http.Request) error {
			r.SetBasicAuth(a.Basic.User, a.Basic.Password)
			return nil
		}}, nil
	case a.Bearer != nil:
		return credentials{authorize: func(r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+*a.Bearer)
			return nil
		}}, nil
	case a.OAuth2 != nil:
		return c.token(ctx, t, b)
	}
	return credentials{authorize: b.Auth.SigV4.sign}, nil
}

// sign signs a request that nobody changes any more.
func (s *sigV4) sign(r *http.Request) error {
	hash := sha256.New()
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err == nil {
			_, err = io.Copy(hash, body)
			err = errors.Join(err, body.Close())
		}
		if err != nil {
			return wrong("auth: sigv4: the body cannot be read: %v", err)
		}
	}
	sum := hex.EncodeToString(hash.Sum(nil))
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = s.Service == "s3" })
	if s.Service == "s3" {
		r.Header.Set("X-Amz-Content-Sha256", sum)
	}
	keys := aws.Credentials{AccessKeyID: s.AccessKey, SecretAccessKey: s.SecretKey, SessionToken: s.SessionToken}
	if err := signer.SignHTTP(r.Context(), keys, r, sum, s.Service, s.Region, time.Now()); err != nil {
		return wrong("auth: sigv4: %v", err)
	}
	return nil
}
