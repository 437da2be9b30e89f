package activity

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MaxRetryAfter bounds how long another side can ask to be left alone; the engine's own bound is as high.
const MaxRetryAfter = 24 * time.Hour

// Later adds to an error how long the other side asks to wait, at most MaxRetryAfter; zero or less adds nothing.
func Later(e *Error, after time.Duration) error {
	if after <= 0 {
		return e
	}
	return &RetryAfterError{Err: e, After: min(after, MaxRetryAfter)}
}

// RetryAfter is how long the headers of an HTTP answer ask to wait (RFC 9110, section 10.2.3), at most MaxRetryAfter; zero if they do not.
// Retry-After is in seconds or a date, which is measured by the clock of the other side.
func RetryAfter(h http.Header) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	s, err := strconv.ParseInt(text, 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) { // what is out of range is the highest or lowest number
		return time.Duration(min(max(s, 0), int64(MaxRetryAfter/time.Second))) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now := time.Now()
	if theirs, err := http.ParseTime(h.Get("Date")); err == nil {
		now = theirs
	}
	return min(max(at.Sub(now), 0), MaxRetryAfter)
}
