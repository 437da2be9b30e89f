package node

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// links makes the addresses of this node.
type links struct {
	base   string
	tokens worker.Tokens
}

// get gives the tokens of this node.
func (l *links) get(context.Context) (worker.Tokens, error) { return l.tokens, nil }

// Callback implements worker.Links.
func (l *links) Callback(_ context.Context, s eventstore.Stream, ref workflow.AttemptRef) (url, token string, err error) {
	if token, err = l.tokens.Sign(s, ref); err != nil {
		return "", "", err
	}
	return worker.CallbackAddress(l.base, token), token, nil
}

// Task implements worker.Links.
func (l *links) Task(s eventstore.Stream, step string) string {
	return worker.TaskAddress(l.base, s, step)
}

// keyFile holds the key of callback tokens, so that tokens survive a restart.
const keyFile = "callback.key"

// writeWhole writes a file so that a kill leaves all of it or nothing.
func writeWhole(file string, data []byte) error {
	f, err := os.OpenFile(file+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// keyOf reads the key of a data folder, or makes it.
func keyOf(data string) ([]byte, error) {
	file := filepath.Join(data, keyFile)
	key, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		key = []byte(rand.Text() + rand.Text())
		err = writeWhole(file, key)
	}
	if err == nil && len(key) < 32 {
		err = fmt.Errorf("%s is damaged: remove it, and callbacks that are still awaited become invalid", file)
	}
	if err != nil {
		return nil, fmt.Errorf("node: callback key: %w", err)
	}
	return key, nil
}
