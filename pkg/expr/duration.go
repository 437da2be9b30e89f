package expr

import (
	"math"
	"strings"
	"time"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// ParseDuration reads a duration: numbers with the units d (24 hours), h, m, s, ms, us and ns, as in "36h", "1d12h",
// "1.5h" and "500ms".
func ParseDuration(text string) (time.Duration, error) {
	d, bad := parseDuration(text)
	if bad != nil {
		return 0, bad.in("", workflow.Position{})
	}
	return d, nil
}

var units = []struct {
	name string
	size time.Duration
}{
	{"ns", time.Nanosecond}, {"us", time.Microsecond}, {"µs", time.Microsecond}, {"μs", time.Microsecond}, {"ms", time.Millisecond},
	{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second},
}

func parseDuration(text string) (time.Duration, *failure) {
	rest, sign := text, int64(1)
	if r, ok := strings.CutPrefix(rest, "-"); ok {
		rest, sign = r, -1
	} else {
		rest = strings.TrimPrefix(rest, "+")
	}
	if rest == "0" {
		return 0, nil
	}
	if rest == "" {
		return 0, noDuration(text)
	}
	var sum int64 // negative, since the smallest duration has no positive counterpart
	for rest != "" {
		n, after, bad := parsePart(rest)
		if bad != nil {
			if bad.msg == "" {
				bad = noDuration(text)
			}
			return 0, bad
		}
		if sum -= n; sum > 0 {
			return 0, durationRange()
		}
		rest = after
	}
	if sign > 0 && sum == math.MinInt64 {
		return 0, durationRange()
	}
	return time.Duration(-sign * sum), nil
}

// parsePart reads one number with its unit, in nanoseconds. A failure without message means that it is none.
func parsePart(text string) (n int64, rest string, bad *failure) {
	i := 0
	for i < len(text) && (text[i] >= '0' && text[i] <= '9' || text[i] == '.') {
		i++
	}
	whole, fraction, dot := strings.Cut(text[:i], ".")
	if whole == "" && fraction == "" || strings.Contains(fraction, ".") || dot && fraction == "" {
		return 0, "", &failure{}
	}
	for _, u := range units {
		rest, ok := strings.CutPrefix(text[i:], u.name)
		if !ok || u.name == "m" && strings.HasPrefix(rest, "s") {
			continue
		}
		n, ok := scaled(whole, fraction, int64(u.size))
		if !ok {
			return 0, "", durationRange()
		}
		return n, rest, nil
	}
	return 0, "", &failure{}
}

// scaled is whole.fraction × unit, rounded down.
func scaled(whole, fraction string, unit int64) (int64, bool) {
	var n int64
	for _, r := range whole {
		d := int64(r - '0')
		if n > (math.MaxInt64-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	if n > math.MaxInt64/unit {
		return 0, false
	}
	n *= unit
	var part int64
	for _, r := range fraction {
		if unit /= 10; unit == 0 {
			break
		}
		part += int64(r-'0') * unit
	}
	if n > math.MaxInt64-part {
		return 0, false
	}
	return n + part, true
}

func noDuration(text string) *failure {
	return failf(CodeRange, "%q is no duration", shorten(text)).or("write it as 30s, 15m, 36h, 1d12h or 500ms")
}

func durationRange() *failure {
	return failf(CodeRange, "a duration is at most about 292 years")
}

// FormatDuration writes the one canonical form of a duration: hours, minutes and seconds without zeros at the end, or a
// smaller unit. Days are written as hours, so that Go and other languages read it: "36h", "1h30m", "1.5s", "500ms".
func FormatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return strings.Replace(s, "µs", "us", 1)
}

func addDurations(a, b time.Duration) (any, *failure) {
	sum := a + b
	if (sum > a) != (b > 0) && b != 0 {
		return nil, durationRange()
	}
	return sum, nil
}

// Years that timestamps may have.
const minYear, maxYear = 1, 9999

func addTime(t time.Time, d time.Duration) (any, *failure) { return inRange(t.Add(d)) }

func inRange(t time.Time) (any, *failure) {
	t = t.UTC()
	if y := t.Year(); y < minYear || y > maxYear {
		return nil, failf(CodeRange, "a timestamp lies in the years %d to %d", minYear, maxYear)
	}
	return t, nil
}

func durationBetween(from, to time.Time) (any, *failure) {
	d := to.Sub(from)
	if !from.Add(d).Equal(to) {
		return nil, durationRange()
	}
	return d, nil
}

// timeText is the one form of a timestamp: RFC 3339 in UTC, with as many digits of the second as it needs.
func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func parseTime(text string) (time.Time, *failure) {
	t, err := time.ParseInLocation(time.RFC3339Nano, text, time.UTC)
	// package time takes a little more than RFC 3339.
	if err != nil || len(text) < len("2006-01-02T15:04:05Z") || text[10] != 'T' || text[13] != ':' || strings.Contains(text, ",") {
		x := failf(CodeRange, "%q is no time", shorten(text)).or("write it as 2026-01-31T09:00:00Z or 2026-01-31T09:00:00+02:00")
		if _, err := time.ParseInLocation(time.DateOnly, text, time.UTC); err == nil {
			x.or("write it as %sT00:00:00Z", text)
		}
		return time.Time{}, x
	}
	v, bad := inRange(t)
	if bad != nil {
		return time.Time{}, bad
	}
	return v.(time.Time), nil
}

// timeOf is the time that a timestamp or a text stands for.
func timeOf(v any) (time.Time, *failure) {
	switch v := v.(type) {
	case time.Time:
		return v, nil
	case string:
		return parseTime(v)
	}
	if bad := unreadable(v); bad != nil {
		return time.Time{}, bad
	}
	return time.Time{}, failf(CodeType, "expected a time, not %s", kindName(v)).or("give a timestamp or a text such as 2026-01-31T09:00:00Z")
}

// durationOf is the duration that a duration or a text stands for.
func durationOf(v any) (time.Duration, *failure) {
	switch v := v.(type) {
	case time.Duration:
		return v, nil
	case string:
		return parseDuration(v)
	}
	if bad := unreadable(v); bad != nil {
		return 0, bad
	}
	x := failf(CodeType, "expected a duration, not %s", kindName(v)).or("give a duration or a text such as 30s")
	if isNumber(v) {
		x.or(`say the unit: duration(string(x) + "s")`)
	}
	return 0, x
}
