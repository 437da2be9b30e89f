package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	smithy "github.com/aws/smithy-go"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// Store implements eventstore.PayloadStore on a bucket.
type Store struct {
	client *awss3.Client
	bucket string
	limit  int64
	now    func() time.Time
}

var _ eventstore.PayloadStore = (*Store)(nil)

// New returns a store on a bucket that exists, for payloads of up to eventstore.MaxPayload.
func New(client *awss3.Client, bucket string) *Store {
	return &Store{client: client, bucket: bucket, limit: eventstore.MaxPayload, now: time.Now}
}

// Limited returns a store that takes payloads of at most limit bytes.
func (s *Store) Limited(limit int64) *Store {
	return &Store{client: s.client, bucket: s.bucket, limit: limit, now: s.now}
}

// small is the most bytes of a payload that is held in memory, and the size of the parts of a larger one.
const small = 5 << 20

// Put implements eventstore.Payloads.
func (s *Store) Put(ctx context.Context, owner eventstore.Stream, r io.Reader) (eventstore.Ref, error) {
	if err := owner.Check(); err != nil {
		return eventstore.Ref{}, err
	}
	head, err := io.ReadAll(io.LimitReader(r, small+1))
	if err != nil {
		return eventstore.Ref{}, err
	}
	if len(head) > small {
		return s.putLarge(ctx, owner, io.MultiReader(bytes.NewReader(head), r))
	}
	ref := eventstore.Ref{Hash: sha256.Sum256(head), Size: int64(len(head))}
	if ref.Size > s.limit {
		return eventstore.Ref{}, tooLarge(ref.Size, s.limit)
	}
	return ref, s.keep(ctx, owner, ref, func(key string) error {
		_, err := s.client.PutObject(ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: &key, Body: bytes.NewReader(head), ContentType: aws.String("application/json")})
		return err
	})
}

// putLarge streams a payload to a place of its own, learns its hash on the way, and gives it its name then.
func (s *Store) putLarge(ctx context.Context, owner eventstore.Stream, r io.Reader) (eventstore.Ref, error) {
	incoming := "incoming/" + newID()
	ref, err := upload{client: s.client, bucket: s.bucket, key: incoming, contentType: "application/json", limit: s.limit}.run(ctx, r)
	if err != nil {
		return ref, err
	}
	defer s.remove(context.WithoutCancel(ctx), incoming) // else the bucket's lifecycle does
	return ref, s.keep(ctx, owner, ref, func(key string) error {
		_, err := s.client.CopyObject(ctx, &awss3.CopyObjectInput{Bucket: &s.bucket, Key: &key, CopySource: aws.String(s.bucket + "/" + incoming)})
		return err
	})
}

// keep makes owner hold a payload, and puts it where it belongs if it is not there.
func (s *Store) keep(ctx context.Context, owner eventstore.Stream, ref eventstore.Ref, put func(key string) error) error {
	if err := s.hold(ctx, owner, ref, newMark(owner, ref)); err != nil {
		return err
	}
	there, err := s.there(ctx, owner.Tenant, ref)
	if err == nil && !there {
		if err = put(dataKey(owner.Tenant, ref)); err != nil {
			err = unavailable("put a payload", err)
		}
	}
	return err
}

// Open implements eventstore.Payloads.
func (s *Store) Open(ctx context.Context, tenant string, ref eventstore.Ref) (io.ReadCloser, error) {
	out, err := s.client.GetObject(ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: aws.String(dataKey(tenant, ref))})
	if missing(err) {
		return nil, &eventstore.NotFoundError{What: "payload " + ref.String()}
	}
	if err != nil {
		return nil, unavailable("open a payload", err)
	}
	return eventstore.NewPayloadReader(ref, out.Body), nil
}

// Own implements eventstore.Owners.
func (s *Store) Own(ctx context.Context, owner eventstore.Stream, refs ...eventstore.Ref) error {
	if err := owner.Check(); err != nil {
		return err
	}
	for _, ref := range refs {
		m := newMark(owner, ref)
		if err := s.hold(ctx, owner, ref, m); err != nil {
			return err
		}
		there, err := s.there(ctx, owner.Tenant, ref)
		if err != nil {
			return err
		}
		if !there {
			s.remove(ctx, m.owners)
			s.remove(ctx, m.held)
			return &eventstore.NotFoundError{What: "payload " + ref.String()}
		}
	}
	return nil
}

// there reports whether a payload is in the bucket.
func (s *Store) there(ctx context.Context, tenant string, ref eventstore.Ref) (bool, error) {
	_, err := s.client.HeadObject(ctx, &awss3.HeadObjectInput{Bucket: &s.bucket, Key: aws.String(dataKey(tenant, ref))})
	if missing(err) {
		return false, nil
	}
	if err != nil {
		return false, unavailable("look for a payload", err)
	}
	return true, nil
}

func tooLarge(size, limit int64) error {
	return &eventstore.LimitError{Field: "payload", Actual: size, Limit: limit}
}

// remove removes an object for which it does no harm to stay.
func (s *Store) remove(ctx context.Context, key string) {
	_, _ = s.client.DeleteObject(ctx, &awss3.DeleteObjectInput{Bucket: &s.bucket, Key: &key})
}

// missing reports whether an error says that there is no such object.
func missing(err error) bool {
	var none *types.NoSuchKey
	var notFound *types.NotFound
	var api smithy.APIError
	return errors.As(err, &none) || errors.As(err, &notFound) || errors.As(err, &api) && (api.ErrorCode() == "NoSuchKey" || api.ErrorCode() == "NotFound")
}

// unavailable says of a failed call that it may be repeated: all of them can be.
func unavailable(op string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("s3: %s: %w", op, err)
	}
	return &eventstore.UnavailableError{Op: "s3: " + op, Err: err}
}

// name makes a part of a key of names of any characters.
func name(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

func refName(ref eventstore.Ref) string {
	return ref.Hash.String() + "." + strconv.FormatInt(ref.Size, 10)
}

func dataKey(tenant string, ref eventstore.Ref) string {
	return "data/" + name(tenant) + "/" + refName(ref)
}

const (
	// collectTime is how long a collector may take from its mark on: it needs a few calls, and gives up when that is over.
	collectTime = 20 * time.Second
	// stale is the age at which the mark of a collector is left over from a crash: long after collectTime, for clocks differ and a request
	// may be on its way.
	stale = 6 * collectTime
)
