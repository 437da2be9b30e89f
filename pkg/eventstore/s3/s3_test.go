package s3_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/emulator"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/s3"
	"github.com/wovyr/wovyr/pkg/eventstore/storetest"
)

func TestPayloads(t *testing.T) {
	client := awss3.NewFromConfig(emulator.Config(t), func(o *awss3.Options) { o.UsePathStyle = true })
	n := 0
	storetest.RunPayloads(t, func(t *testing.T) storetest.PayloadSubject {
		n++
		bucket := fmt.Sprintf("payloads-%d-%x", n, sha256.Sum256([]byte(t.Name())))[:40]
		_, err := client.CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: &bucket})
		require.NoError(t, err)
		const limit = 12 << 20
		return storetest.PayloadSubject{
			Store: s3.New(client, bucket).Limited(limit), Limit: limit, Streams: false,
			Stored: func() int { return len(keys(t, client, bucket, "data/")) },
			Rewrite: func(tenant string, ref eventstore.Ref, content []byte) {
				h := sha256.Sum256(fmt.Appendf(nil, "%d:%s", len(tenant), tenant))
				key := "data/" + base64.RawURLEncoding.EncodeToString(h[:]) + "/" + ref.Hash.String() + "." + fmt.Sprint(ref.Size)
				_, err := client.PutObject(t.Context(), &awss3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(content)})
				require.NoError(t, err)
			},
		}
	})
}

// keys lists the objects below a prefix.
func keys(t *testing.T, client *awss3.Client, bucket, prefix string) []string {
	var out []string
	pages := awss3.NewListObjectsV2Paginator(client, &awss3.ListObjectsV2Input{Bucket: &bucket, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(context.WithoutCancel(t.Context()))
		require.NoError(t, err)
		for _, o := range page.Contents {
			out = append(out, *o.Key)
		}
	}
	return out
}

// TestNothingIsLeftBehind looks at all objects after the last hold has ended.
func TestNothingIsLeftBehind(t *testing.T) {
	client := awss3.NewFromConfig(emulator.Config(t), func(o *awss3.Options) { o.UsePathStyle = true })
	_, err := client.CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: aws.String("left")})
	require.NoError(t, err)
	s := s3.New(client, "left")
	a, b := eventstore.Stream{Tenant: "t", ID: "a"}, eventstore.Stream{Tenant: "t", ID: "b"}
	large, err := s.Put(t.Context(), a, strings.NewReader(strings.Repeat("x", 11<<20)))
	require.NoError(t, err)
	_, err = s.Put(t.Context(), a, strings.NewReader(`{"small":true}`))
	require.NoError(t, err)
	require.NoError(t, s.Own(t.Context(), b, large))
	require.Empty(t, keys(t, client, "left", "incoming/"))
	require.NoError(t, s.Release(t.Context(), a))
	require.Len(t, keys(t, client, "left", "data/"), 1, "b holds it")
	require.NoError(t, s.Release(t.Context(), b))
	require.Empty(t, keys(t, client, "left", ""))
}

// TestOwnTakesBackItsOwnMarkOnly lets an execution ask for a payload that is not there while it puts the same: what it holds then stays.
func TestOwnTakesBackItsOwnMarkOnly(t *testing.T) {
	client := awss3.NewFromConfig(emulator.Config(t), func(o *awss3.Options) { o.UsePathStyle = true })
	_, err := client.CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: aws.String("marks")})
	require.NoError(t, err)
	s := s3.New(client, "marks")
	for round := range 20 {
		content := fmt.Sprintf(`{"round":%d}`, round)
		ref := eventstore.Ref{Hash: sha256.Sum256([]byte(content)), Size: int64(len(content))}
		mine, other := eventstore.Stream{Tenant: "t", ID: "mine"}, eventstore.Stream{Tenant: "t", ID: "other"}
		asked := make(chan error)
		go func() { asked <- s.Own(t.Context(), mine, ref) }()
		_, err := s.Put(t.Context(), mine, strings.NewReader(content))
		require.NoError(t, err)
		if err := <-asked; err != nil {
			require.ErrorIs(t, err, eventstore.ErrNotFound)
		}
		require.NoError(t, s.Own(t.Context(), other, ref))
		require.NoError(t, s.Release(t.Context(), other))
		body, err := s.Open(t.Context(), "t", ref)
		require.NoError(t, err)
		require.NoError(t, body.Close())
	}
}
