package workflow_test

import (
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/workflow"
)

func zone(t require.TestingT, name string) *time.Location {
	z, err := time.LoadLocation(name)
	require.NoError(t, err)
	return z
}

func TestCronNext(t *testing.T) {
	for _, test := range []struct{ name, cron, zone, after, next string }{
		{"every minute", "* * * * *", "UTC", "2026-03-01T10:00:30Z", "2026-03-01T10:01:00Z"},
		{"strictly after", "0 9 * * *", "UTC", "2026-03-01T09:00:00Z", "2026-03-02T09:00:00Z"},
		{"a fraction before", "0 9 * * *", "UTC", "2026-03-01T08:59:59.999Z", "2026-03-01T09:00:00Z"},
		{"week days by name", "0 9 * * MON-FRI", "UTC", "2026-03-06T09:00:00Z", "2026-03-09T09:00:00Z"},
		{"Sunday is 0", "0 0 * * 0", "UTC", "2026-03-02T00:00:00Z", "2026-03-08T00:00:00Z"},
		{"Sunday is 7", "0 0 * * 7", "UTC", "2026-03-02T00:00:00Z", "2026-03-08T00:00:00Z"},
		{"Friday to Sunday", "0 0 * * 5-7", "UTC", "2026-03-07T00:00:00Z", "2026-03-08T00:00:00Z"},
		{"steps", "*/20 * * * *", "UTC", "2026-03-01T10:20:00Z", "2026-03-01T10:40:00Z"},
		{"a step from a number", "5/20 * * * *", "UTC", "2026-03-01T10:26:00Z", "2026-03-01T10:45:00Z"},
		{"lists and ranges", "1,5-7 8 * * *", "UTC", "2026-03-01T08:01:00Z", "2026-03-01T08:05:00Z"},
		{"either day", "0 0 13 * FRI", "UTC", "2026-03-01T00:00:00Z", "2026-03-06T00:00:00Z"},
		{"the other day", "0 0 3 * FRI", "UTC", "2026-03-01T00:00:00Z", "2026-03-03T00:00:00Z"},
		{"both days when one is *", "0 0 */2 * FRI", "UTC", "2026-03-01T00:00:00Z", "2026-03-13T00:00:00Z"},
		{"leap day", "0 0 29 2 *", "UTC", "2026-03-01T00:00:00Z", "2028-02-29T00:00:00Z"},
		{"leap day around 2100", "0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"},
		{"month by name", "0 0 1 dec *", "UTC", "2026-03-01T00:00:00Z", "2026-12-01T00:00:00Z"},
		{"in a zone", "0 9 * * *", "Europe/Stockholm", "2026-01-10T09:00:00Z", "2026-01-11T08:00:00Z"},
		{"in summer time", "0 9 * * *", "Europe/Stockholm", "2026-07-10T09:00:00Z", "2026-07-11T07:00:00Z"},
		{"half-hour zone", "0 9 * * *", "Asia/Kolkata", "2026-01-10T00:00:00Z", "2026-01-10T03:30:00Z"},

		// On 29 March 2026, 2:00 becomes 3:00 in Stockholm (1:00 UTC); on 25 October, 3:00 becomes 2:00.
		{"a skipped time comes at the change", "30 2 * * *", "Europe/Stockholm", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"},
		{"and again the next day", "30 2 * * *", "Europe/Stockholm", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"},
		{"a double time comes first", "30 2 * * *", "Europe/Stockholm", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"},
		{"and once", "30 2 * * *", "Europe/Stockholm", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		{"once also from between", "30 2 * * *", "Europe/Stockholm", "2026-10-25T01:10:00Z", "2026-10-26T01:30:00Z"},
		{"every hour is real, forward", "0 * * * *", "Europe/Stockholm", "2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z"},
		{"every hour is real, back", "0 * * * *", "Europe/Stockholm", "2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z"},
		{"quarters in the double hour", "*/15 * * * *", "Europe/Stockholm", "2026-10-25T00:45:00Z", "2026-10-25T01:00:00Z"},
		{"midnight that is skipped", "0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00Z", "2018-11-04T03:00:00Z"},
		{"hours of a day without midnight", "0 * 4 11 *", "America/Sao_Paulo", "2018-11-03T12:00:00Z", "2018-11-04T03:00:00Z"},
		{"half-hour change", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", "2026-10-03T15:30:00Z"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := workflow.ParseCron(test.cron)
			require.NoError(t, err)
			after, err := time.Parse(time.RFC3339, test.after)
			require.NoError(t, err)
			next, ok := c.Next(after, zone(t, test.zone))
			require.True(t, ok)
			require.Equal(t, test.next, next.UTC().Format(time.RFC3339))
		})
	}
}

func TestCronErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "a cron expression has 5 fields, not 0",
		"0 9 * *":              "a cron expression has 5 fields, not 4",
		"0 0 9 * * MON":        "a cron expression has 5 fields, not 6",
		"@daily":               "a cron expression has 5 fields, not 1",
		"60 * * * *":           `the minute is "60", which is not from 0 to 59`,
		"* 24 * * *":           `the hour is "24", which is not from 0 to 23`,
		"* * 0 * *":            `the day of month is "0", which is not from 1 to 31`,
		"* * * 13 *":           `the month is "13", which is not from 1 to 12`,
		"* * * FOO *":          `the month is "FOO", which is not from 1 to 12`,
		"* * * * 8":            `the day of week is "8", which is not from 0 to 7`,
		"* * * * MON-":         `the day of week is "", which is not from 0 to 7`,
		"5-1 * * * *":          `the minute has the range "5-1", which ends before it starts`,
		"*/0 * * * *":          `the minute has the step "0", which is not a number from 1 to 59`,
		"*/x * * * *":          `the minute has the step "x", which is not a number from 1 to 59`,
		"1,,2 * * * *":         `the minute is "", which is not from 0 to 59`,
		"-1 * * * *":           `the minute is "", which is not from 0 to 59`,
		"+1 * * * *":           `the minute is "+1", which is not from 0 to 59`,
		"0x1 * * * *":          `the minute is "0x1", which is not from 0 to 59`,
		"? * * * *":            `the minute is "?", which is not from 0 to 59`,
		"TZ=UTC * * * *":       `the minute is "TZ=UTC", which is not from 0 to 59`,
		"0 0 30 2 *":           `"0 0 30 2 *" names a day that no year has`,
		"0 0 31 4,6,9 *":       `"0 0 31 4,6,9 *" names a day that no year has`,
		"999999999999 * * * *": `the minute is "999999999999", which is not from 0 to 59`,
	} {
		_, err := workflow.ParseCron(text)
		var cron *workflow.CronError
		require.ErrorAs(t, err, &cron, text)
		require.EqualError(t, err, want, text)
	}
	_, err := workflow.ParseCron("0 0 30 2 MON") // any Monday of February will do
	require.NoError(t, err)
}

// Next agrees with looking at every minute, whatever the schedule, the zone and the time.
func TestCronNextIsTheFirst(t *testing.T) {
	zones := []string{"UTC", "Europe/Stockholm", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "America/Sao_Paulo", "America/Havana", "Pacific/Apia"}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"0", "7", "*/25", "59"}).Draw(t, "minute") + " " +
			rapid.SampledFrom([]string{"*", "*/5", "0", "2", "1-3", "23"}).Draw(t, "hour") + " * * " +
			rapid.SampledFrom([]string{"*", "*/2", "SUN", "MON-FRI"}).Draw(t, "day of week")
		c, err := workflow.ParseCron(text)
		require.NoError(t, err)
		z := zone(t, rapid.SampledFrom(zones).Draw(t, "zone"))
		after := time.Unix(rapid.Int64Range(1_200_000_000, 1_900_000_000).Draw(t, "after"), 0)
		next, ok := c.Next(after, z)
		require.True(t, ok)
		require.True(t, next.After(after))
		require.Zero(t, next.Second())
		again, _ := c.Next(next.Add(-time.Second), z)
		require.True(t, again.Equal(next), "%s: %s then %s", text, next, again)
		for probe := after.Add(37 * time.Minute); probe.Before(next); probe = probe.Add(37 * time.Minute) {
			found, _ := c.Next(probe, z)
			require.True(t, found.Equal(next), "%s: from %s comes %s, before %s", text, probe, found, next)
		}
	})
}
