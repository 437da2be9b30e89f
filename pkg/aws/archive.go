package aws

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb"
	"github.com/wovyr/wovyr/pkg/eventstore/s3"
)

// archiving is the store, with a history kept in a bucket before it leaves the tables, and dead letters counted.
type archiving struct {
	*dynamodb.Store
	objects *awss3.Client
	bucket  string
	metrics *metrics
}

// PutDeadLetter implements eventstore.DeadLetters.
func (a *archiving) PutDeadLetter(ctx context.Context, d eventstore.DeadLetter) error {
	err := a.Store.PutDeadLetter(ctx, d)
	if err == nil {
		a.metrics.count(metric{stack.MetricDeadLetters, 1, "Count"})
	}
	return err
}

// archivePage is how many commits are read at a time.
const archivePage = 100

// Purge implements eventstore.Housekeeping: the history goes to the archive first. What is there stays as it is: a purge that broke off has left
// a history without its end, and must not put that in place of the whole one.
func (a *archiving) Purge(ctx context.Context, s eventstore.Stream) error {
	if err := a.archive(ctx, s); err != nil {
		return fmt.Errorf("aws: archive %s: %w", s, err)
	}
	return a.Store.Purge(ctx, s)
}

// archivedCommit is one line of an archived history: all that its hash covers.
type archivedCommit struct {
	First      uint64 `json:"first"`
	Last       uint64 `json:"last"`
	Checkpoint uint64 `json:"checkpoint,omitempty"`
	Previous   string `json:"previous"`
	Nonce      []byte `json:"nonce"`
	Data       []byte `json:"data"`
}

// archiveKey is where a history stands. The nonce of its first commit tells it from a later one of the same ID.
func archiveKey(s eventstore.Stream, first eventstore.Commit) string {
	return "histories/" + url.PathEscape(s.Tenant) + "/" + url.PathEscape(s.ID) + "/" + first.Nonce.String() + ".jsonl.gz"
}

// archive streams a history to the bucket: however long it is, a page and a part of it are in memory.
func (a *archiving) archive(ctx context.Context, s eventstore.Stream) error {
	page, err := a.Page(ctx, s, 0, archivePage)
	if err != nil || len(page) == 0 { // none: it was purged before
		return err
	}
	r, w := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.CloseWithError(a.lines(ctx, s, page, w))
	}()
	_, err = s3.PutOnce(ctx, a.objects, a.bucket, archiveKey(s, page[0]), "application/gzip", r)
	_ = r.Close() // it never fails, and ends the other side
	<-ended
	return err
}

// lines writes a history whose first page was read.
func (a *archiving) lines(ctx context.Context, s eventstore.Stream, page []eventstore.Commit, to io.Writer) (err error) {
	zip := gzip.NewWriter(to)
	for enc := json.NewEncoder(zip); len(page) > 0; {
		for _, c := range page {
			if err := enc.Encode(archivedCommit{c.First, c.Last, c.Checkpoint, c.Prev.String(), c.Nonce[:], c.Data}); err != nil {
				return err
			}
		}
		if page, err = a.Page(ctx, s, page[len(page)-1].Last, archivePage); err != nil {
			return err
		}
	}
	return zip.Close()
}
