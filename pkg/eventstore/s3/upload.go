package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

const (
	// partSize is the size of parts: 10,000 of them hold more than MaxPayload.
	partSize = 8 << 20
	// maxParts is how many parts an object may have.
	maxParts = 10_000
)

// PutOnce streams r to an object of a bucket unless there is one of that key, and reports whether it wrote. It holds one part in memory, whatever
// the length. If it fails, nothing was written, or an object as a whole.
func PutOnce(ctx context.Context, client *awss3.Client, bucket, key, contentType string, r io.Reader) (written bool, err error) {
	head, err := io.ReadAll(io.LimitReader(r, small+1))
	if err != nil {
		return false, err
	}
	if len(head) <= small {
		_, err = client.PutObject(ctx, &awss3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(head), ContentType: &contentType, IfNoneMatch: aws.String("*")})
		if err != nil {
			err = unavailable("put "+key, err)
		}
	} else {
		_, err = upload{client: client, bucket: bucket, key: key, contentType: contentType, limit: maxParts * partSize, once: true}.run(ctx, io.MultiReader(bytes.NewReader(head), r))
	}
	var answer *awshttp.ResponseError
	if errors.As(err, &answer) && answer.HTTPStatusCode() == http.StatusPreconditionFailed {
		return false, nil
	}
	return err == nil, err
}

// upload is an object that is sent in parts.
type upload struct {
	client                   *awss3.Client
	bucket, key, contentType string
	limit                    int64
	// once says that an object which is there already stays.
	once bool
}

// run streams r to the object, one part in memory at a time, and returns what it is. If anything fails, nothing is kept.
func (u upload) run(ctx context.Context, r io.Reader) (ref eventstore.Ref, err error) {
	begun, err := u.client.CreateMultipartUpload(ctx, &awss3.CreateMultipartUploadInput{Bucket: &u.bucket, Key: &u.key, ContentType: &u.contentType})
	if err != nil {
		return ref, unavailable("begin an upload", err)
	}
	defer func() {
		if err != nil { // else the bucket's lifecycle does
			_, _ = u.client.AbortMultipartUpload(context.WithoutCancel(ctx), &awss3.AbortMultipartUploadInput{Bucket: &u.bucket, Key: &u.key, UploadId: begun.UploadId})
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
		if ref.Size += int64(n); ref.Size > u.limit {
			return ref, tooLarge(ref.Size, u.limit)
		}
		hash.Write(part[:n])
		number := aws.Int32(int32(len(parts) + 1))
		out, err := u.client.UploadPart(ctx, &awss3.UploadPartInput{Bucket: &u.bucket, Key: &u.key, UploadId: begun.UploadId, PartNumber: number, Body: bytes.NewReader(part[:n])})
		if err != nil {
			return ref, unavailable("upload a part", err)
		}
		parts = append(parts, types.CompletedPart{ETag: out.ETag, PartNumber: number})
	}
	copy(ref.Hash[:], hash.Sum(nil))
	in := &awss3.CompleteMultipartUploadInput{Bucket: &u.bucket, Key: &u.key, UploadId: begun.UploadId, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts}}
	if u.once {
		in.IfNoneMatch = aws.String("*")
	}
	if _, err = u.client.CompleteMultipartUpload(ctx, in); err != nil {
		return ref, unavailable("end an upload", err)
	}
	return ref, nil
}
