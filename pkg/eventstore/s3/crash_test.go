package s3_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/emulator"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/s3"
)

// dying fails all calls from the one on that matches.
func dying(when func(in any) bool) func(*awss3.Options) {
	dead := false
	return func(o *awss3.Options) {
		o.UsePathStyle = true
		o.APIOptions = append(o.APIOptions, func(s *middleware.Stack) error {
			return s.Initialize.Add(middleware.InitializeMiddlewareFunc("dying", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				if dead = dead || when(in.Parameters); dead {
					return middleware.InitializeOutput{}, middleware.Metadata{}, errors.New("the process is gone")
				}
				return next.HandleInitialize(ctx, in)
			}), middleware.Before)
		})
	}
}

// TestACrashWhileAPayloadIsRemoved lets a process die at each call with which it lets go of a payload. Until its mark is stale, whoever wants the same
// payload is told to come again; then all goes on, nothing is missing, and nothing is left.
func TestACrashWhileAPayloadIsRemoved(t *testing.T) {
	t.Parallel() // it waits for collectors that are none
	cfg := emulator.Config(t)
	client := awss3.NewFromConfig(cfg, func(o *awss3.Options) { o.UsePathStyle = true })
	_, err := client.CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: aws.String("crash")})
	require.NoError(t, err)
	prefixed := func(list *awss3.ListObjectsV2Input, prefix string) bool {
		return strings.HasPrefix(aws.ToString(list.Prefix), prefix)
	}
	later := func() time.Time { return time.Now().Add(s3.Stale) }
	a, b := eventstore.Stream{Tenant: "t", ID: "a"}, eventstore.Stream{Tenant: "t", ID: "b"}
	for name, when := range map[string]func(in any) bool{
		"before it marks the payload": func(in any) bool {
			put, ok := in.(*awss3.PutObjectInput)
			return ok && strings.HasPrefix(*put.Key, "collecting/")
		},
		"before it looks who holds it": func(in any) bool {
			list, ok := in.(*awss3.ListObjectsV2Input)
			return ok && prefixed(list, "owners/")
		},
		"before it removes the payload": func(in any) bool {
			remove, ok := in.(*awss3.DeleteObjectInput)
			return ok && strings.HasPrefix(*remove.Key, "data/")
		},
		"before it takes its mark back": func(in any) bool {
			remove, ok := in.(*awss3.DeleteObjectInput)
			return ok && strings.HasPrefix(*remove.Key, "collecting/")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := s3.New(client, "crash")
			ref, err := s.Put(t.Context(), a, strings.NewReader(`{"of":"`+name+`"}`))
			require.NoError(t, err)
			require.Error(t, s3.New(awss3.NewFromConfig(cfg, dying(when)), "crash").Release(t.Context(), a))
			if len(keys(t, client, "crash", "collecting/")) > 0 {
				_, err = s.Put(t.Context(), b, strings.NewReader(`{"of":"`+name+`"}`))
				require.ErrorIs(t, err, eventstore.ErrUnavailable, "a message that meets it comes again")
			}
			s = s.At(later)
			_, err = s.Put(t.Context(), b, strings.NewReader(`{"of":"`+name+`"}`))
			require.NoError(t, err)
			require.NoError(t, s.Release(t.Context(), a), "the purge is tried again")
			body, err := s.Open(t.Context(), "t", ref)
			require.NoError(t, err)
			text, err := io.ReadAll(body)
			require.NoError(t, err)
			require.True(t, bytes.Contains(text, []byte(name)))
			require.NoError(t, s.Release(t.Context(), b))
			require.Empty(t, append(keys(t, client, "crash", "data/"), append(keys(t, client, "crash", "held/"), keys(t, client, "crash", "owners/")...)...))
			for _, key := range keys(t, client, "crash", "collecting/") { // as the bucket's lifecycle does
				_, err := client.DeleteObject(t.Context(), &awss3.DeleteObjectInput{Bucket: aws.String("crash"), Key: &key})
				require.NoError(t, err)
			}
		})
	}
}

// TestPutOnce writes an object of any size once, whoever asks for it.
func TestPutOnce(t *testing.T) {
	client := awss3.NewFromConfig(emulator.Config(t), func(o *awss3.Options) { o.UsePathStyle = true })
	_, err := client.CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: aws.String("once")})
	require.NoError(t, err)
	for key, size := range map[string]int{"none": 0, "small": 1000, "a part": 5 << 20, "parts": 18 << 20} {
		first, second := bytes.Repeat([]byte("1"), size), bytes.Repeat([]byte("2"), size+1)
		written, err := s3.PutOnce(t.Context(), client, "once", key, "text/plain", bytes.NewReader(first))
		require.NoError(t, err)
		require.True(t, written, key)
		written, err = s3.PutOnce(t.Context(), client, "once", key, "text/plain", bytes.NewReader(second))
		require.NoError(t, err)
		require.False(t, written, key)
		out, err := client.GetObject(t.Context(), &awss3.GetObjectInput{Bucket: aws.String("once"), Key: &key})
		require.NoError(t, err)
		text, err := io.ReadAll(out.Body)
		require.NoError(t, err)
		require.True(t, bytes.Equal(first, text), key)
	}
	broken := io.MultiReader(bytes.NewReader(make([]byte, 6<<20)), errReader{})
	_, err = s3.PutOnce(t.Context(), client, "once", "broken", "text/plain", broken)
	require.ErrorIs(t, err, errBroken)
	require.NotContains(t, keys(t, client, "once", ""), "broken")
	uploads, err := client.ListMultipartUploads(t.Context(), &awss3.ListMultipartUploadsInput{Bucket: aws.String("once")})
	require.NoError(t, err)
	require.Empty(t, uploads.Uploads)
}

var errBroken = errors.New("broken")

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errBroken }
