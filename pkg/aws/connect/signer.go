package connect

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/wovyr/wovyr/pkg/client"
)

// maxBody is the most bytes of a request that API Gateway takes.
const maxBody = 10 << 20

// Signer is an http.RoundTripper that signs each request by signature version 4, so that API Gateway knows who calls: the caller needs the right
// execute-api:Invoke. It is safe for concurrent use. What it refuses to send is a client.ErrNotSent.
type Signer struct {
	// Credentials are asked before each request; a provider of the SDK keeps them while they are good.
	Credentials aws.CredentialsProvider
	Region      string
	// Service is what the signature is for; "execute-api", API Gateway, if empty.
	Service string
	// Next sends what is signed; http.DefaultTransport if nil.
	Next http.RoundTripper
	// Now tells the time; time.Now if nil.
	Now func() time.Time
}

// RoundTrip implements http.RoundTripper. The request itself stays as it is.
func (s *Signer) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := bodyOf(r)
	if err != nil {
		return nil, err
	}
	if s.Credentials == nil {
		return nil, fmt.Errorf("%w: %w", client.ErrNotSent, &CredentialsError{})
	}
	credentials, err := s.Credentials.Retrieve(r.Context())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", client.ErrNotSent, &CredentialsError{Err: err})
	}
	now := time.Now
	if s.Now != nil {
		now = s.Now
	}
	service := s.Service
	if service == "" {
		service = "execute-api"
	}
	signed := r.Clone(r.Context())
	signed.Body, signed.ContentLength, signed.TransferEncoding = http.NoBody, int64(len(body)), nil
	if len(body) > 0 {
		signed.Body = io.NopCloser(bytes.NewReader(body))
		signed.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(r.Context(), credentials, signed, hex.EncodeToString(sum[:]), service, s.Region, now()); err != nil {
		return nil, fmt.Errorf("%w: signature: %w", client.ErrNotSent, err)
	}
	next := s.Next
	if next == nil {
		next = http.DefaultTransport
	}
	return next.RoundTrip(signed)
}

// bodyOf reads and closes the body of a request: the signature covers it.
func bodyOf(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	defer r.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("%w: read the request: %w", client.ErrNotSent, err)
	}
	if len(body) > maxBody {
		return nil, fmt.Errorf("%w: it has more than the %d MB that API Gateway takes", client.ErrNotSent, maxBody>>20)
	}
	return body, nil
}
