package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
)

// Order is one of the archive.
type Order struct {
	ID     string `json:"id"`
	Amount int    `json:"amount"`
}

// archive gives its orders page by page, and lets whoever asks for the third page wait once.
type archive struct {
	orders int
	asked  atomic.Int64
}

// ServeHTTP answers GET /orders?limit=…&cursor=…
func (a *archive) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || r.URL.Path != "/orders" {
		http.NotFound(w, r)
		return
	}
	if a.asked.Add(1) == 3 {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "not so fast", http.StatusTooManyRequests)
		return
	}
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	from := 0
	if cursor := r.URL.Query().Get("cursor"); cursor != "" && err == nil {
		from, err = strconv.Atoi(cursor)
	}
	if err != nil || limit < 1 || from < 0 {
		http.Error(w, "limit and cursor are numbers", http.StatusBadRequest)
		return
	}
	var page struct {
		Orders []Order `json:"orders"`
		Next   *string `json:"next"`
	}
	for i := from; i < min(from+limit, a.orders); i++ {
		page.Orders = append(page.Orders, Order{ID: fmt.Sprintf("o-%d", i+1), Amount: i % 100})
	}
	if from+limit < a.orders {
		next := strconv.Itoa(from + limit)
		page.Next = &next
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(page) // who is gone needs no answer
}
