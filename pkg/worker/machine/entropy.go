package machine

import (
	"crypto/rand"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// Entropy is the randomness of this machine. It implements worker.Entropy.
type Entropy struct{}

// ID implements worker.Entropy.
func (Entropy) ID() string { return rand.Text() }

// Nonce implements worker.Entropy.
func (Entropy) Nonce() (n eventstore.Nonce) {
	_, _ = rand.Read(n[:]) // it never fails
	return n
}
