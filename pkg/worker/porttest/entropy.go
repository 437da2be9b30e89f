package porttest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// RunEntropy tests worker.Entropy.
func RunEntropy(t *testing.T, traits Traits, open Open) {
	run := runner(t, traits, open)
	run("entropy/unique", testUnique)
	run("entropy/beside each other", testUniqueBeside)
}

// maxID is how long a name of a message may be: queues take no longer ones as their own.
const maxID = 128

func testUnique(d *desk) {
	ids, nonces := map[string]bool{}, map[eventstore.Nonce]bool{{}: true}
	for range 20_000 {
		id, nonce := d.Entropy.ID(), d.Entropy.Nonce()
		require.False(d.t, ids[id], "ID %q came twice", id)
		require.False(d.t, nonces[nonce], "nonce %x is zero or came twice", nonce)
		ids[id], nonces[nonce] = true, true
		require.NotEmpty(d.t, id)
		require.LessOrEqual(d.t, len(id), maxID)
		for _, c := range []byte(id) {
			require.True(d.t, c > ' ' && c < 0x7f, "ID %q has characters that are no printable ASCII", id)
		}
	}
}

// testUniqueBeside: many at once make no two alike.
func testUniqueBeside(d *desk) {
	made := make(chan []string, 8)
	for range cap(made) {
		d.Go(func() {
			var ids []string
			for range 500 {
				ids = append(ids, d.Entropy.ID(), string(nonceText(d.Entropy.Nonce())))
			}
			made <- ids
		})
	}
	seen := map[string]bool{}
	for range cap(made) {
		d.until("the names", func() bool { return len(made) > 0 })
		for _, id := range <-made {
			require.False(d.t, seen[id], "%q came twice", id)
			seen[id] = true
		}
	}
}

func nonceText(n eventstore.Nonce) []byte { return append([]byte("nonce "), n[:]...) }
