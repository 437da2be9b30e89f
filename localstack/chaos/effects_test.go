package chaos

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// effects is a server outside of the stack. A call of /do is an effect, which it counts by its idempotency key; under faults some calls are refused
// before they have one, and the answers of some are lost.
type effects struct {
	*httptest.Server
	wire   http.RoundTripper
	faults atomic.Bool
	over   <-chan struct{}

	mu    sync.Mutex
	dice  *rand.Rand
	done  map[string]int
	calls map[string]int
}

func newEffects(t *testing.T, seed uint64, wire http.RoundTripper) *effects {
	e := &effects{dice: rand.New(rand.NewPCG(seed, 2)), done: map[string]int{}, calls: map[string]int{}, wire: wire, over: t.Context().Done()}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	return e
}

// ServeHTTP implements http.Handler. /do answers {"n": …} with what it was given; /busy the same, after two refusals of each key; /refuse never takes place;
// /call answers later, by the callback's address.
func (e *effects) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		N        int    `json:"n"`
		Callback string `json:"callback"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in) // no number is 0
	key := r.Header.Get("Idempotency-Key")
	e.mu.Lock()
	chance := e.dice.IntN(100)
	if !e.faults.Load() {
		chance = 100
	}
	e.calls[key]++
	calls := e.calls[key]
	refused := chance < 5 || r.URL.Path == "/busy" && calls <= 2
	if !refused && r.URL.Path != "/refuse" {
		e.done[key]++
	}
	e.mu.Unlock()
	switch {
	case r.URL.Path == "/refuse":
		http.Error(w, "no", http.StatusUnprocessableEntity)
	case refused:
		http.Error(w, "busy", http.StatusServiceUnavailable)
	case chance < 8:
		panic(http.ErrAbortHandler)
	case r.URL.Path == "/call":
		w.WriteHeader(http.StatusAccepted)
		go e.answer(in.Callback, in.N)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"n":%d}`, in.N)
	}
}

// answer calls back until somebody has taken the answer.
func (e *effects) answer(address string, n int) {
	c := http.Client{Transport: e.wire}
	again := time.NewTicker(look)
	defer again.Stop()
	for {
		res, err := c.Post(address, "application/json", strings.NewReader(fmt.Sprintf(`{"output":{"n":%d}}`, n)))
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode < 500 {
				return
			}
		}
		select {
		case <-e.over:
			return
		case <-again.C:
		}
	}
}

// counts returns how often each key took effect.
func (e *effects) counts() map[string]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.done)
}
