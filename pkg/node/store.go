package node

import (
	"context"
	"net/http"
	"net/url"

	"github.com/wovyr/wovyr/pkg/api"
	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/local"
)

// Store reads executions from a data folder that no node has open, in the words of the API.
type Store struct {
	client *client.Client
	store  *local.Reader
}

// OpenStore opens a data folder for reading.
func OpenStore(data string) (*Store, error) {
	r, err := local.OpenReader(data)
	if err != nil {
		return nil, err
	}
	a := &api.Server{Worker: r.Worker, Tenant: Tenant}
	return &Store{store: r, client: &client.Client{Server: "http://store", HTTP: &http.Client{Transport: direct{a.Handler()}}}}, nil
}

// Get implements the reading of one execution.
func (s *Store) Get(ctx context.Context, id string) (client.Execution, error) {
	return s.client.Get(ctx, id)
}

// List implements the reading of many.
func (s *Store) List(ctx context.Context, query url.Values) (client.Page[client.Execution], error) {
	return s.client.List(ctx, query)
}

// History implements the reading of events.
func (s *Store) History(ctx context.Context, id, after string) (client.Page[client.Event], error) {
	return s.client.History(ctx, id, after)
}

// Verify implements the checking of a history.
func (s *Store) Verify(ctx context.Context, id string) (client.Proof, error) {
	return s.client.Verify(ctx, id)
}

// DeadLetters implements the reading of messages that could not be handled.
func (s *Store) DeadLetters(ctx context.Context, query url.Values) (client.Page[client.DeadLetter], error) {
	return s.client.DeadLetters(ctx, query)
}

// DeadLetter implements the reading of one of them.
func (s *Store) DeadLetter(ctx context.Context, id string) (client.DeadLetter, error) {
	return s.client.DeadLetter(ctx, id)
}

// Close closes the folder.
func (s *Store) Close() error { return s.store.Close() }
