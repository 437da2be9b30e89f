package workflow

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Cron is a schedule in the five fields of Unix: minute, hour, day of month, month, day of week. Each is *, a
// number, a range a-b, a list with commas, and any of them with a step /n; months and days of week have names too
// (JAN, MON), and Sunday is 0 or 7. Where both days are restricted, either of them will do, as cron has it.
type Cron struct {
	minute, hour, day, month, weekday uint64 // one bit a value
	anyDay                            bool   // one of the day fields starts with *: both must fit
	anyHour                           bool   // the hour field starts with *
}

// CronError says what is wrong with a cron expression.
type CronError struct {
	Field   string // "minute", … or "" for the whole
	Problem string
}

// Error implements the error interface.
func (e *CronError) Error() string {
	if e.Field == "" {
		return e.Problem
	}
	return "the " + e.Field + " " + e.Problem
}

type cronField struct {
	name     string
	min, max int
	names    []string // of min, min+1, …
}

var cronFields = [5]cronField{
	{name: "minute", max: 59},
	{name: "hour", max: 23},
	{name: "day of month", min: 1, max: 31},
	{name: "month", min: 1, max: 12, names: []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}},
	{name: "day of week", max: 7, names: []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}},
}

// ParseCron reads a cron expression. The error is a *CronError. A schedule that never comes (30 February) is an error.
func ParseCron(text string) (Cron, error) {
	fields := strings.Fields(text)
	if len(fields) != len(cronFields) {
		return Cron{}, &CronError{Problem: fmt.Sprintf("a cron expression has 5 fields, not %d", len(fields))}
	}
	var set [5]uint64
	for i, f := range cronFields {
		bitset, err := f.parse(fields[i])
		if err != nil {
			return Cron{}, err
		}
		set[i] = bitset
	}
	c := Cron{minute: set[0], hour: set[1], day: set[2], month: set[3], weekday: set[4]}
	if c.weekday&(1<<7) != 0 { // Sunday
		c.weekday = c.weekday&^(1<<7) | 1
	}
	c.anyDay = strings.HasPrefix(fields[2], "*") || strings.HasPrefix(fields[4], "*")
	c.anyHour = strings.HasPrefix(fields[1], "*")
	if c.anyDay && !c.possible() {
		return Cron{}, &CronError{Problem: fmt.Sprintf("%q names a day that no year has", text)}
	}
	return c, nil
}

// possible reports whether some month of the schedule has some day of it.
func (c Cron) possible() bool {
	for month, days := range [...]int{1: 31, 2: 29, 3: 31, 4: 30, 5: 31, 6: 30, 7: 31, 8: 31, 9: 30, 10: 31, 11: 30, 12: 31} {
		if c.month&(1<<month) != 0 && bits.TrailingZeros64(c.day) <= days {
			return true
		}
	}
	return false
}

func (f cronField) parse(text string) (uint64, error) {
	var set uint64
	for _, part := range strings.Split(text, ",") {
		span, step, stepped := strings.Cut(part, "/")
		by := 1
		if stepped {
			n, err := strconv.Atoi(step)
			if err != nil || n < 1 || n > f.max {
				return 0, &CronError{f.name, fmt.Sprintf("has the step %q, which is not a number from 1 to %d", step, f.max)}
			}
			by = n
		}
		from, to := f.min, f.max
		if f.name == "day of week" {
			to = 6
		}
		if span != "*" {
			low, high, ranged := strings.Cut(span, "-")
			var err error
			if from, err = f.number(low); err != nil {
				return 0, err
			}
			switch {
			case ranged:
				if to, err = f.number(high); err != nil {
					return 0, err
				}
			case !stepped:
				to = from
			}
			if from > to {
				return 0, &CronError{f.name, fmt.Sprintf("has the range %q, which ends before it starts", span)}
			}
		}
		for v := from; v <= to; v += by {
			set |= 1 << v
		}
	}
	return set, nil
}

func (f cronField) number(text string) (int, error) {
	for i, name := range f.names {
		if strings.EqualFold(text, name) {
			return f.min + i, nil
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < f.min || n > f.max || len(text) > 2 || text[0] == '+' || text[0] == '-' {
		return 0, &CronError{f.name, fmt.Sprintf("is %q, which is not from %d to %d", text, f.min, f.max)}
	}
	return n, nil
}

// cronHorizon bounds the search: 29 February on one day of the week comes every 28 years, or 40 around 2100.
const cronHorizon = 41

// Next returns the first time of the schedule after a time, in a time zone; false where there is none for 41 years.
// The result depends on nothing else.
//
// When clocks change: a schedule whose hour is * follows real hours. Any other follows the clock on the wall and comes once a
// day at each of its times: one that a change skips comes at the moment of the change, one that happens
// twice counts the first time.
func (c Cron) Next(after time.Time, zone *time.Location) (time.Time, bool) {
	after = after.In(zone)
	wall := wallClock(after)
	for limit := wall.AddDate(cronHorizon, 0, 0); ; {
		if c.anyHour {
			next, ok := c.nextReal(after, zone)
			return next, ok
		}
		next, ok := c.nextWall(wall, limit)
		if !ok {
			return time.Time{}, false
		}
		if at := onWall(next, zone); at.After(after) {
			return at, true
		}
		wall = next
	}
}

// nextReal searches in real time: the minutes of the day are stepped through as the zone has them.
func (c Cron) nextReal(after time.Time, zone *time.Location) (time.Time, bool) {
	limit := after.AddDate(cronHorizon, 0, 0)
	for t := after.Truncate(time.Minute).Add(time.Minute); t.Before(limit); {
		switch {
		case !c.onDay(t.Year(), t.Month(), t.Day()):
			year, month, day := t.Date()
			next := onWall(time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC), zone)
			if !next.After(t) { // a zone that changed twice within three days
				next = t.Add(time.Minute)
			}
			t = next
		case c.hour&(1<<t.Hour()) == 0:
			t = t.Add(time.Duration(60-t.Minute()) * time.Minute)
		case c.minute&(1<<t.Minute()) == 0:
			t = t.Add(time.Minute)
		default:
			return t, true
		}
	}
	return time.Time{}, false
}

// nextWall searches on a wall clock without changes, which UTC stands for.
func (c Cron) nextWall(after, limit time.Time) (time.Time, bool) {
	for t := after.Truncate(time.Minute).Add(time.Minute); t.Before(limit); {
		switch {
		case !c.onDay(t.Year(), t.Month(), t.Day()):
			t = time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, time.UTC)
		case c.hour&(1<<t.Hour()) == 0:
			t = t.Truncate(time.Hour).Add(time.Hour)
		case c.minute&(1<<t.Minute()) == 0:
			t = t.Add(time.Minute)
		default:
			return t, true
		}
	}
	return time.Time{}, false
}

func (c Cron) onDay(year int, month time.Month, day int) bool {
	if c.month&(1<<month) == 0 {
		return false
	}
	inMonth := c.day&(1<<day) != 0
	inWeek := c.weekday&(1<<time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Weekday()) != 0
	if c.anyDay {
		return inMonth && inWeek
	}
	return inMonth || inWeek
}

// wallClock reads the clock on the wall of t's zone, as if it were UTC.
func wallClock(t time.Time) time.Time {
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	return time.Date(year, month, day, hour, minute, second, t.Nanosecond(), time.UTC)
}

// onWall returns the first moment at which the clock on a zone's wall shows a time or, where it jumps over it, the moment of the jump.
func onWall(wall time.Time, zone *time.Location) time.Time {
	// The offsets around the moment are those half a day away on both sides: zones do not change twice a day.
	_, before := wall.Add(-36 * time.Hour).In(zone).Zone()
	_, after := wall.Add(36 * time.Hour).In(zone).Zone()
	early := wall.Add(-time.Duration(max(before, after)) * time.Second).In(zone)
	late := wall.Add(-time.Duration(min(before, after)) * time.Second).In(zone)
	switch {
	case wallClock(early).Equal(wall):
		return early
	case wallClock(late).Equal(wall):
		return late
	}
	// The clock jumps between the two: find the change.
	_, from := early.Zone()
	low, high := early.Unix(), late.Unix()
	for low+1 < high {
		middle := (low + high) / 2
		if _, offset := time.Unix(middle, 0).In(zone).Zone(); offset == from {
			low = middle
		} else {
			high = middle
		}
	}
	return time.Unix(high, 0).In(zone)
}
