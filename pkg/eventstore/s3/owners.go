package s3

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// mark is the two objects that say that an execution holds a payload. Each call has a mark of its own, so that one which takes its mark back does
// not take away another's.
type mark struct{ held, owners string }

func newMark(owner eventstore.Stream, ref eventstore.Ref) mark {
	tenant, holder, payload, id := name(owner.Tenant), name(owner.Tenant, owner.ID), refName(ref), newID()
	return mark{"held/" + tenant + "/" + holder + "/" + payload + "/" + id, "owners/" + tenant + "/" + payload + "/" + holder + "/" + id}
}

func collectors(tenant, payload string) string { return "collecting/" + tenant + "/" + payload + "/" }

func newID() string { return rand.Text() }

// Waiting for collectors: they need a few calls each.
const (
	firstWait = 20 * time.Millisecond
	lastWait  = 2 * time.Second
)

// hold marks a payload as held and waits until nobody is about to remove it, so that what is there then stays.
func (s *Store) hold(ctx context.Context, owner eventstore.Stream, ref eventstore.Ref, m mark) error {
	for _, key := range []string{m.held, m.owners} { // in this order: what is held by nobody's list would never be let go
		if err := s.note(ctx, key); err != nil {
			return err
		}
	}
	prefix := collectors(name(owner.Tenant), refName(ref))
	for wait := firstWait; ; wait *= 2 {
		busy, err := s.collected(ctx, prefix)
		if err != nil || !busy {
			return err
		}
		if wait > lastWait {
			return unavailable("hold a payload", errors.New("it is being removed"))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// collected reports whether somebody is about to remove a payload.
func (s *Store) collected(ctx context.Context, prefix string) (bool, error) {
	out, err := s.client.ListObjectsV2(ctx, &awss3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &prefix})
	if err != nil {
		return false, unavailable("look for collectors", err)
	}
	for _, o := range out.Contents {
		if s.now().Sub(aws.ToTime(o.LastModified)) < stale {
			return true, nil
		}
	}
	return false, nil
}

// note puts an empty object.
func (s *Store) note(ctx context.Context, key string) error {
	if _, err := s.client.PutObject(ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: &key, Body: strings.NewReader("")}); err != nil {
		return unavailable("mark a payload", err)
	}
	return nil
}

// Release implements eventstore.Owners. The mark of an execution goes last, so that a repeat finds what is left to do.
func (s *Store) Release(ctx context.Context, owner eventstore.Stream) error {
	if err := owner.Check(); err != nil {
		return err
	}
	tenant, holder := name(owner.Tenant), name(owner.Tenant, owner.ID)
	prefix := "held/" + tenant + "/" + holder + "/"
	for {
		out, err := s.client.ListObjectsV2(ctx, &awss3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &prefix})
		if err != nil {
			return unavailable("list what an execution holds", err)
		}
		for _, o := range out.Contents {
			payload, id, _ := strings.Cut(strings.TrimPrefix(*o.Key, prefix), "/")
			if err := s.letGo(ctx, tenant, payload, holder+"/"+id); err != nil {
				return err
			}
			if err := s.delete(ctx, *o.Key); err != nil {
				return err
			}
		}
		if !aws.ToBool(out.IsTruncated) {
			return nil
		}
	}
}

// letGo ends one hold, and removes the payload if that was the last. Whoever wants the same payload meanwhile waits for it, and after a crash in here
// until its mark is stale: queues are patient for so long.
func (s *Store) letGo(ctx context.Context, tenant, payload, holder string) error {
	ctx, cancel := context.WithTimeout(ctx, collectTime)
	defer cancel()
	if err := s.delete(ctx, "owners/"+tenant+"/"+payload+"/"+holder); err != nil {
		return err
	}
	collecting := collectors(tenant, payload) + newID()
	if err := s.note(ctx, collecting); err != nil {
		return err
	}
	defer s.remove(context.WithoutCancel(ctx), collecting)
	out, err := s.client.ListObjectsV2(ctx, &awss3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: aws.String("owners/" + tenant + "/" + payload + "/"), MaxKeys: aws.Int32(1)})
	if err != nil {
		return unavailable("list who holds a payload", err)
	}
	if len(out.Contents) > 0 {
		return nil
	}
	return s.delete(ctx, "data/"+tenant+"/"+payload)
}

func (s *Store) delete(ctx context.Context, key string) error {
	if _, err := s.client.DeleteObject(ctx, &awss3.DeleteObjectInput{Bucket: &s.bucket, Key: &key}); err != nil {
		return unavailable("remove "+key, err)
	}
	return nil
}
