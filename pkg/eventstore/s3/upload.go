package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// partSize is the size of parts: 10,000 of them hold more than MaxPayload.
const partSize = 8 << 20

// upload streams r to an object in parts, one in memory at a time, and returns what it is. If anything fails, nothing is kept.
func (s *Store) upload(ctx context.Context, key string, r io.Reader) (ref eventstore.Ref, err error) {
	begun, err := s.client.CreateMultipartUpload(ctx, &awss3.CreateMultipartUploadInput{Bucket: &s.bucket, Key: &key, ContentType: aws.String("application/json")})
	if err != nil {
		return ref, unavailable("begin an upload", err)
	}
	defer func() {
		if err != nil { // else the bucket's lifecycle does
			_, _ = s.client.AbortMultipartUpload(context.WithoutCancel(ctx), &awss3.AbortMultipartUploadInput{Bucket: &s.bucket, Key: &key, UploadId: begun.UploadId})
		}
	}()
	hash := sha256.New()
	part := make([]byte, partSize)
	var parts []types.CompletedPart
	for end := false; !end; {
		n, readErr := io.ReadFull(r, part)
		if end = errors.Is(readErr, io.EOF) || errors.Is(readErr, io.ErrUnexpectedEOF); readErr != nil && !end {
			return ref, readErr
		}
		if n == 0 {
			break
		}
		if ref.Size += int64(n); ref.Size > s.limit {
			return ref, s.tooLarge(ref.Size)
		}
		hash.Write(part[:n])
		number := aws.Int32(int32(len(parts) + 1))
		out, err := s.client.UploadPart(ctx, &awss3.UploadPartInput{Bucket: &s.bucket, Key: &key, UploadId: begun.UploadId, PartNumber: number, Body: bytes.NewReader(part[:n])})
		if err != nil {
			return ref, unavailable("upload a part", err)
		}
		parts = append(parts, types.CompletedPart{ETag: out.ETag, PartNumber: number})
	}
	copy(ref.Hash[:], hash.Sum(nil))
	_, err = s.client.CompleteMultipartUpload(ctx, &awss3.CompleteMultipartUploadInput{Bucket: &s.bucket, Key: &key, UploadId: begun.UploadId, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts}})
	if err != nil {
		return ref, unavailable("end an upload", err)
	}
	return ref, nil
}
