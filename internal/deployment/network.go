package deployment

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// hands are how many real calls are under way at most.
const hands = 64

// bridge carries HTTP requests out of a bubble: its goroutines and channels are there before the bubble, so whoever waits for an answer is not
// blocked for ever in the bubble's eyes, and virtual time stands still meanwhile.
type bridge struct {
	jobs    chan job
	replies chan chan reply
}

type job struct {
	request *http.Request
	reply   chan reply
}

type reply struct {
	response *http.Response
	err      error
}

// newBridge opens a bridge to a client until the test ends. It must be called outside of the bubble.
func newBridge(t testing.TB, to aws.HTTPClient) *bridge {
	b := &bridge{jobs: make(chan job), replies: make(chan chan reply, hands)}
	for range hands {
		b.replies <- make(chan reply)
		go func() {
			for j := range b.jobs {
				j.reply <- carry(to, j.request)
			}
		}()
	}
	t.Cleanup(func() { close(b.jobs) })
	return b
}

// Do implements aws.HTTPClient.
func (b *bridge) Do(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	out := r.Clone(context.Background()) // the request's own context belongs to the bubble
	out.Body, out.ContentLength = http.NoBody, int64(len(body))
	if len(body) > 0 {
		out.Body = io.NopCloser(bytes.NewReader(body))
	}
	back := <-b.replies
	b.jobs <- job{out, back}
	answer := <-back
	b.replies <- back
	return answer.response, answer.err
}

func carry(to aws.HTTPClient, r *http.Request) reply {
	res, err := to.Do(r)
	if err != nil {
		return reply{nil, err}
	}
	body, err := io.ReadAll(res.Body)
	res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(body))
	return reply{res, err}
}
