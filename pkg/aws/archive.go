package aws

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb"
)

// archiving is the store, with a history kept in a bucket before it leaves the tables.
type archiving struct {
	*dynamodb.Store
	objects *awss3.Client
	bucket  string
}

// archivePage is how many commits are read at a time.
const archivePage = 100

// Purge implements eventstore.Housekeeping: the history goes to the archive first. It may be repeated: the object is the same.
func (a *archiving) Purge(ctx context.Context, s eventstore.Stream) error {
	if err := a.archive(ctx, s); err != nil {
		return err
	}
	return a.Store.Purge(ctx, s)
}

// archivedCommit is one line of an archived history.
type archivedCommit struct {
	First    uint64 `json:"first"`
	Last     uint64 `json:"last"`
	Previous string `json:"previous"`
	Nonce    []byte `json:"nonce"`
	Data     []byte `json:"data"`
}

func (a *archiving) archive(ctx context.Context, s eventstore.Stream) error {
	var text bytes.Buffer
	zip := gzip.NewWriter(&text)
	lines := json.NewEncoder(zip)
	after, any := uint64(0), false
	for {
		page, err := a.Page(ctx, s, after, archivePage)
		if err != nil {
			return fmt.Errorf("aws: archive %s: %w", s, err)
		}
		if len(page) == 0 {
			break
		}
		for _, c := range page {
			after, any = c.Last, true
			if err := lines.Encode(archivedCommit{c.First, c.Last, c.Prev.String(), c.Nonce[:], c.Data}); err != nil {
				return fmt.Errorf("aws: archive %s: %w", s, err)
			}
		}
	}
	if !any {
		return nil // purged before
	}
	if err := zip.Close(); err != nil {
		return fmt.Errorf("aws: archive %s: %w", s, err)
	}
	key := "histories/" + url.PathEscape(s.Tenant) + "/" + url.PathEscape(s.ID) + ".jsonl.gz"
	if _, err := a.objects.PutObject(ctx, &awss3.PutObjectInput{Bucket: &a.bucket, Key: &key, Body: bytes.NewReader(text.Bytes())}); err != nil {
		return passing("archive "+s.String(), err)
	}
	return nil
}
