package local

import (
	"io"
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
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, elsewhere) // the client is gone if this fails
			return
		}
		next.ServeHTTP(w, r)
	})
}

// elsewhere is the problem (RFC 9457) of requests that do not name this machine.
const elsewhere = `{"status":403,"code":"host","title":"this server answers to localhost only","detail":"ask for 127.0.0.1, or localhost"}` + "\n"
