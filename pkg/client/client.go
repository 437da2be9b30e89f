package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Client calls one server. The zero HTTP client is http.DefaultClient.
type Client struct {
	// Server is the address, such as http://127.0.0.1:7233.
	Server string
	HTTP   *http.Client
	// Token is sent as a bearer token; empty: none.
	Token string
}

// ErrUnreachable says that no server answered.
var ErrUnreachable = errors.New("no Wovyr server answers")

// ErrNotSent says that the transport of Client.HTTP refused to send a request: nothing went out.
var ErrNotSent = errors.New("the request was not sent")

// maxAnswer bounds the bytes of one answer.
const maxAnswer = 64 << 20

// call sends a request and decodes the answer. An answer that is no success is a *Problem.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, body io.Reader, kind string, out any) error {
	target := strings.TrimSuffix(c.Server, "/") + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	h := c.HTTP
	if h == nil {
		h = http.DefaultClient
	}
	res, err := h.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if of := (*url.Error)(nil); errors.As(err, &of) {
			err = of.Err // the address is said already
		}
		if errors.Is(err, ErrNotSent) {
			return err
		}
		return fmt.Errorf("%w at %s: %w", ErrUnreachable, c.Server, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("client: read the answer: %w", err)
	}
	if res.StatusCode/100 != 2 {
		p := &Problem{}
		if json.Unmarshal(text, p) != nil || p.Title == "" {
			p = &Problem{Status: res.StatusCode, Code: "http", Title: res.Status, Detail: strings.TrimSpace(string(text[:min(len(text), 200)]))}
		}
		return p
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("client: the answer of %s is not what this client knows: %w", c.Server, err)
	}
	return nil
}

func (c *Client) post(ctx context.Context, path string, in, out any) error {
	text, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	return c.call(ctx, http.MethodPost, path, nil, bytes.NewReader(text), "application/json", out)
}

func execution(id string) string { return "/v1/executions/" + url.PathEscape(workflow.Segment(id)) }

// Deploy sends a document. A refused one is a *Problem with diagnostics.
func (c *Client) Deploy(ctx context.Context, file string, document []byte) (d Deployed, err error) {
	err = c.call(ctx, http.MethodPost, "/v1/workflows", url.Values{"file": {file}}, bytes.NewReader(document), "application/yaml", &d)
	return d, err
}

// Start starts an execution.
func (c *Client) Start(ctx context.Context, r StartRequest) (e Execution, err error) {
	err = c.post(ctx, "/v1/executions", r, &e)
	return e, err
}

// Get returns an execution as it is now.
func (c *Client) Get(ctx context.Context, id string) (e Execution, err error) {
	err = c.call(ctx, http.MethodGet, execution(id), nil, nil, "", &e)
	return e, err
}

// Wait returns an execution once it has ended, or as it is when the server tires of waiting: call again.
func (c *Client) Wait(ctx context.Context, id string) (e Execution, err error) {
	err = c.call(ctx, http.MethodGet, execution(id), url.Values{"wait": {"true"}}, nil, "", &e)
	return e, err
}

// List returns a page of executions. Query takes workflow, status, outcome, parent, label (key=value), open,
// stuck (true: those that do not move although they were repaired again and again), limit, cursor.
func (c *Client) List(ctx context.Context, query url.Values) (p Page[Execution], err error) {
	err = c.call(ctx, http.MethodGet, "/v1/executions", query, nil, "", &p)
	return p, err
}

// History returns the events of an execution after a version, page by page: Next is the version to go on from.
func (c *Client) History(ctx context.Context, id, after string) (p Page[Event], err error) {
	query := url.Values{}
	if after != "" {
		query.Set("after", after)
	}
	err = c.call(ctx, http.MethodGet, execution(id)+"/history", query, nil, "", &p)
	return p, err
}

// Signal sends an event to one execution.
func (c *Client) Signal(ctx context.Context, id string, s Signal) error {
	return c.post(ctx, execution(id)+"/signals", s, nil)
}

// Publish sends an event to whoever waits for it.
func (c *Client) Publish(ctx context.Context, s Signal) error {
	return c.post(ctx, "/v1/events", s, nil)
}

// Cancel asks for an execution's end.
func (c *Client) Cancel(ctx context.Context, id string, r CancelRequest) error {
	return c.post(ctx, execution(id)+"/cancel", r, nil)
}

// Move makes an operator's move.
func (c *Client) Move(ctx context.Context, id string, m OperatorMove) error {
	return c.post(ctx, execution(id)+"/moves", m, nil)
}

// Redrive starts a new execution that takes over what an ended one completed.
func (c *Client) Redrive(ctx context.Context, id string, r RedriveRequest) (e Execution, err error) {
	err = c.post(ctx, execution(id)+"/redrive", r, &e)
	return e, err
}

// Verify checks the chain of an execution's history.
func (c *Client) Verify(ctx context.Context, id string) (p Proof, err error) {
	err = c.call(ctx, http.MethodGet, execution(id)+"/proof", nil, nil, "", &p)
	return p, err
}

// Tasks returns the open tasks.
func (c *Client) Tasks(ctx context.Context, query url.Values) (p Page[Task], err error) {
	err = c.call(ctx, http.MethodGet, "/v1/tasks", query, nil, "", &p)
	return p, err
}

// Decide takes a decision.
func (c *Client) Decide(ctx context.Context, id, step string, d Decision) error {
	return c.post(ctx, execution(id)+"/tasks/"+url.PathEscape(workflow.Segment(step)), d, nil)
}

func letter(id string) string { return "/v1/deadletters/" + url.PathEscape(workflow.Segment(id)) }

// DeadLetters returns a page of messages that could not be handled, newest first. Query takes limit, cursor.
func (c *Client) DeadLetters(ctx context.Context, query url.Values) (p Page[DeadLetter], err error) {
	err = c.call(ctx, http.MethodGet, "/v1/deadletters", query, nil, "", &p)
	return p, err
}

// DeadLetter returns one of them, with its message.
func (c *Client) DeadLetter(ctx context.Context, id string) (d DeadLetter, err error) {
	err = c.call(ctx, http.MethodGet, letter(id), nil, nil, "", &d)
	return d, err
}

// RedriveLetter lets a dead letter be handled again.
func (c *Client) RedriveLetter(ctx context.Context, id string, m LetterMove) error {
	return c.post(ctx, letter(id)+"/redrive", m, nil)
}

// DropLetter removes a dead letter for good.
func (c *Client) DropLetter(ctx context.Context, id string, m LetterMove) error {
	return c.post(ctx, letter(id)+"/drop", m, nil)
}
