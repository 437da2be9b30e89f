package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Bank takes and pays back money. It behaves as banks do on a bad day: the first call finds it busy, and the answer to the second gets lost
// on its way, after the money was taken.
type Bank struct {
	// Secret is that of its one client, "shop".
	Secret string
	// Ledger tells what happened to the money.
	Ledger io.Writer

	mu      sync.Mutex
	calls   int
	tokens  map[string]bool
	charges map[string]*Charge // by idempotency key
}

// Charge is money that was taken.
type Charge struct {
	ID       string `json:"id"`
	Order    string `json:"order"`
	Amount   int    `json:"amount"`
	Refunded bool   `json:"refunded"`
}

// NewBank returns a bank without charges.
func NewBank(secret string, ledger io.Writer) *Bank {
	return &Bank{Secret: secret, Ledger: ledger, tokens: map[string]bool{}, charges: map[string]*Charge{}}
}

// Handler is its HTTP interface.
func (b *Bank) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", b.token)
	mux.HandleFunc("POST /charges", b.only(b.charge))
	mux.HandleFunc("POST /charges/{id}/refund", b.only(b.refund))
	return mux
}

func (b *Bank) token(w http.ResponseWriter, r *http.Request) {
	if user, secret, _ := r.BasicAuth(); user != "shop" || secret != b.Secret {
		answer(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	token := rand.Text()
	b.mu.Lock()
	b.tokens[token] = true
	b.mu.Unlock()
	answer(w, http.StatusOK, map[string]any{"access_token": token, "token_type": "bearer", "expires_in": 600})
}

// only lets holders of a token pass, one after the other.
func (b *Bank) only(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		var token string
		if _, err := fmt.Sscanf(r.Header.Get("Authorization"), "Bearer %s", &token); err != nil || !b.tokens[token] {
			answer(w, http.StatusUnauthorized, nil)
			return
		}
		h(w, r)
	}
}

func (b *Bank) charge(w http.ResponseWriter, r *http.Request) {
	b.calls++
	if b.calls == 1 {
		answer(w, http.StatusServiceUnavailable, map[string]string{"code": "busy"})
		return
	}
	key := r.Header.Get("Idempotency-Key")
	c, again := b.charges[key]
	if !again {
		c = &Charge{ID: fmt.Sprintf("c-%d", len(b.charges)+1)}
		if err := json.NewDecoder(r.Body).Decode(c); err != nil || c.Amount <= 0 {
			answer(w, http.StatusUnprocessableEntity, map[string]string{"code": "amount"})
			return
		}
		b.charges[key] = c
		fmt.Fprintf(b.Ledger, "bank: %s: took %d for %s\n", c.ID, c.Amount, c.Order)
	} else {
		fmt.Fprintf(b.Ledger, "bank: %s: asked again with the same key, nothing taken\n", c.ID)
	}
	if b.calls == 2 {
		panic(http.ErrAbortHandler) // the line breaks before the answer is out
	}
	answer(w, http.StatusCreated, c)
}

func (b *Bank) refund(w http.ResponseWriter, r *http.Request) {
	for _, c := range b.charges {
		if c.ID != r.PathValue("id") {
			continue
		}
		if !c.Refunded {
			c.Refunded = true
			fmt.Fprintf(b.Ledger, "bank: %s: paid %d back\n", c.ID, c.Amount)
		}
		answer(w, http.StatusOK, c)
		return
	}
	answer(w, http.StatusNotFound, nil)
}

// carrier takes parcels of up to 20 kg.
func carrier(ledger io.Writer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var parcel struct {
			Order  string
			Weight float64
		}
		if err := json.NewDecoder(r.Body).Decode(&parcel); err != nil || parcel.Weight > 20 {
			answer(w, http.StatusUnprocessableEntity, map[string]string{"code": "too_heavy"})
			return
		}
		fmt.Fprintf(ledger, "carrier: took a parcel for %s\n", parcel.Order)
		answer(w, http.StatusCreated, map[string]string{"parcel": "p-" + parcel.Order})
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // who is gone needs no answer
}
