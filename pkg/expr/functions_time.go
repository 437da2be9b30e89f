package expr

import (
	"strings"
	"time"
)

// timeFunctions make, take apart and print times. Zones are names, Europe/Stockholm, or offsets, +02:00.
var timeFunctions = []*function{
	def("timestamp", "string -> timestamp; int -> timestamp; timestamp -> timestamp", callTimestamp, folded),
	def("duration", "string -> duration; duration -> duration", callDuration, folded),
	def("format_time", "timestamp, string -> string; timestamp, string, string -> string; string, string -> string; string, string, string -> string", callFormatTime),
	def("getFullYear", getterSignature, getter(func(t time.Time) int { return t.Year() }, nil)),
	def("getMonth", getterSignature, getter(func(t time.Time) int { return int(t.Month()) - 1 }, nil)),
	def("getDate", getterSignature, getter(func(t time.Time) int { return t.Day() }, nil)),
	def("getDayOfMonth", getterSignature, getter(func(t time.Time) int { return t.Day() - 1 }, nil)),
	def("getDayOfWeek", getterSignature, getter(func(t time.Time) int { return int(t.Weekday()) }, nil)),
	def("getDayOfYear", getterSignature, getter(func(t time.Time) int { return t.YearDay() - 1 }, nil)),
	def("getHours", getterSignature+"; duration -> int", getter(time.Time.Hour, func(d time.Duration) int64 { return int64(d / time.Hour) })),
	def("getMinutes", getterSignature+"; duration -> int", getter(time.Time.Minute, func(d time.Duration) int64 { return int64(d / time.Minute) })),
	def("getSeconds", getterSignature+"; duration -> int", getter(time.Time.Second, func(d time.Duration) int64 { return int64(d / time.Second) })),
	def("getMilliseconds", getterSignature+"; duration -> int",
		getter(func(t time.Time) int { return t.Nanosecond() / 1e6 }, func(d time.Duration) int64 { return d.Milliseconds() })),
}

const getterSignature = "timestamp -> int; timestamp, string -> int"

func callTimestamp(_ *frame, args []any) (any, *failure) {
	switch v := args[0].(type) {
	case time.Time:
		return v, nil
	case string:
		t, bad := parseTime(v)
		if bad != nil {
			return nil, bad
		}
		return t, nil
	case int64:
		if v < -62135596800 || v > 253402300799 {
			return nil, failf(CodeRange, "%d seconds since 1970 lie outside of the years %d to %d", v, minYear, maxYear)
		}
		return time.Unix(v, 0).UTC(), nil
	}
	return nil, wrong
}

func callDuration(_ *frame, args []any) (any, *failure) {
	switch args[0].(type) {
	case string, time.Duration:
		d, bad := durationOf(args[0])
		if bad != nil {
			return nil, bad
		}
		return d, nil
	}
	return nil, wrong
}

// getter makes a getter of timestamps and, with span, of durations.
func getter(of func(time.Time) int, span func(time.Duration) int64) func(*frame, []any) (any, *failure) {
	return func(_ *frame, args []any) (any, *failure) {
		switch v := args[0].(type) {
		case time.Time:
			t, bad := inZone(v, args[1:])
			if bad != nil {
				return nil, bad
			}
			return int64(of(t)), nil
		case time.Duration:
			if span != nil && len(args) == 1 {
				return span(v), nil
			}
		}
		return nil, wrong
	}
}

// inZone moves a time to the zone that an optional argument names.
func inZone(t time.Time, args []any) (time.Time, *failure) {
	if len(args) == 0 {
		return t, nil
	}
	name, ok := args[0].(string)
	if !ok {
		return t, wrong
	}
	loc, bad := zoneOrOffset(name)
	if bad != nil {
		return t, bad
	}
	return t.In(loc), nil
}

// callFormatTime prints a time by an example layout: 2006-01-02 15:04:05.
func callFormatTime(f *frame, args []any) (any, *failure) {
	layout, ok := args[1].(string)
	if !ok {
		return nil, wrong
	}
	switch args[0].(type) {
	case time.Time, string:
	default:
		return nil, wrong
	}
	t, bad := timeOf(args[0])
	if bad != nil {
		return nil, bad
	}
	if t, bad = inZone(t, args[2:]); bad != nil {
		return nil, bad
	}
	if strings.Contains(layout, "%") || strings.Contains(layout, "YYYY") || strings.Contains(layout, "yyyy") {
		return nil, failf(CodeRange, "%q is no layout of format_time", shorten(layout)).or(`show how Monday, 2 January 2006, 15:04:05 would look, as in "2006-01-02 15:04"`)
	}
	if bad := f.work(20 + len(layout)); bad != nil {
		return nil, bad
	}
	if bad := f.bytes(8 * len(layout)); bad != nil {
		return nil, bad
	}
	return t.Format(layout), nil
}
