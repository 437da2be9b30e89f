package local

import (
	"errors"
	"path/filepath"

	"github.com/wovyr/wovyr/pkg/eventstore/folder"
	"github.com/wovyr/wovyr/pkg/eventstore/sqlite"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/worker/machine"
)

// Reader looks into a data folder without running anything.
type Reader struct {
	// Worker answers reads only.
	Worker *worker.Worker
	store  *sqlite.Store
}

// OpenReader opens a data folder for reading; another process may have it open.
func OpenReader(data string) (*Reader, error) {
	store, err := sqlite.Open(data, sqlite.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	payloads, err := folder.Open(filepath.Join(data, payloadFolder), folder.Options{ReadOnly: true})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	w := &worker.Worker{Name: "reader", Store: store, Payloads: payloads, Programs: worker.NewPrograms(store), Clock: machine.Clock{}, Entropy: machine.Entropy{}, Limits: worker.DefaultLimits()}
	if err := w.Init(); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &Reader{Worker: w, store: store}, nil
}

// Close closes the folder.
func (r *Reader) Close() error { return r.store.Close() }
