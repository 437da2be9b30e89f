package local

import (
	"net"
	"net/http"
)

// OnlyFromHere refuses requests that name this machine by anything but its loopback addresses: pages on the internet
// can let a browser resolve a name of theirs to 127.0.0.1 (DNS rebinding), and then speak to servers here.
func OnlyFromHere(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "this server answers to localhost only", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
