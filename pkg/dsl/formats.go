package dsl

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// The fixed forms of texts in the language. Each function says what is wrong with a text and what to write instead.

// maxDuration is 100 years: beyond it, sums of times would leave the range of RFC 3339.
const maxDuration = 100 * 365 * 24 * time.Hour

func durationProblem(text string) (wrong, instead string) {
	d, err := expr.ParseDuration(text)
	switch {
	case err != nil && tooLong.MatchString(text):
		return fmt.Sprintf("%q is more than 100 years", clip(text)), "write a shorter duration"
	case err != nil:
		return fmt.Sprintf("%q is not a duration", clip(text)), "write a number with a unit, such as 30s, 15m, 2h, 7d or 1d12h"
	case d < 0:
		return fmt.Sprintf("%q is negative", clip(text)), "write a duration of 0s or more"
	case d > maxDuration:
		return fmt.Sprintf("%q is more than 100 years", clip(text)), "write a shorter duration"
	}
	return "", ""
}

func positiveDurationProblem(text string) (wrong, instead string) {
	if wrong, instead = durationProblem(text); wrong != "" {
		return wrong, instead
	}
	if d, _ := expr.ParseDuration(text); d == 0 {
		return "a duration of 0 would never be met", "write a longer duration, or leave the word out"
	}
	return "", ""
}

// tooLong finds what ParseDuration refuses for its length alone.
var tooLong = regexp.MustCompile(`^\+?([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h|d))+$`)

var sizeForm = regexp.MustCompile(`^([0-9]{1,12})(B|KB|MB|GB|KiB|MiB|GiB)$`)

var sizeUnits = map[string]int64{"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

// maxSize is 1 TiB.
const maxSize = 1 << 40

// parseSize reads "512MiB" as bytes; 0 for anything else.
func parseSize(text string) int64 {
	m := sizeForm.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.ParseInt(m[1], 10, 64)
	if unit := sizeUnits[m[2]]; n <= maxSize/unit {
		return n * unit
	}
	return maxSize + 1
}

func sizeProblem(text string) (wrong, instead string) {
	switch n := parseSize(text); {
	case n == 0:
		return fmt.Sprintf("%q is not a size", clip(text)), "write a whole number with a unit, such as 512MiB or 2GB"
	case n > maxSize:
		return fmt.Sprintf("%q is more than 1 TiB", clip(text)), "write a smaller size"
	}
	return "", ""
}

func timeProblem(text string) (wrong, instead string) {
	if _, err := time.Parse(time.RFC3339, text); err != nil {
		return fmt.Sprintf("%q is not a time", clip(text)), "write date, time and zone as in 2027-01-31T09:00:00Z or 2027-01-31T09:00:00+01:00"
	}
	return "", ""
}

func dateProblem(text string) (wrong, instead string) {
	if _, err := time.Parse(time.DateOnly, text); err != nil {
		return fmt.Sprintf("%q is not a date", clip(text)), "write year, month and day as in 2027-01-31"
	}
	return "", ""
}

func zoneProblem(text string) (wrong, instead string) {
	if _, err := expr.Zone(text); err != nil {
		instead = "write a name of the IANA database, such as Europe/Stockholm or UTC"
		if _, hint, _ := strings.Cut(err.Error(), "; "); strings.HasPrefix(hint, "did you mean") {
			instead = hint
		}
		return fmt.Sprintf("%q is not a time zone", clip(text)), instead
	}
	return "", ""
}

func cronProblem(text string) (wrong, instead string) {
	if _, err := workflow.ParseCron(text); err != nil {
		return err.Error(), "write minute, hour, day of month, month and day of week, such as 0 9 * * MON-FRI"
	}
	return "", ""
}

var percentForm = regexp.MustCompile(`^([0-9]{1,3}(?:\.[0-9]{1,6})?)%$`)

// parsePercent reads "5%" as 5; false for anything else, and for more than 100.
func parsePercent(text string) (float64, bool) {
	m := percentForm.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	f, err := strconv.ParseFloat(m[1], 64)
	return f, err == nil && f <= 100
}

func percentProblem(text string) (wrong, instead string) {
	if _, ok := parsePercent(text); !ok {
		return fmt.Sprintf("%q is not a share", clip(text)), "write a share such as 5%, or a whole number"
	}
	return "", ""
}

// patternProblem makes a check of a regular expression.
func patternProblem(form *regexp.Regexp, what, instead string) func(string) (string, string) {
	return func(text string) (string, string) {
		if form.MatchString(text) {
			return "", ""
		}
		return fmt.Sprintf("%q is not %s", clip(text), what), instead
	}
}

var (
	workflowName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	callName     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9._/-]{0,127}$`)
	identifier   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	labelKey     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`)
	secretName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9._-]{0,127}$`)
	headerName   = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")
	selector     = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*$`)
	statusCode   = regexp.MustCompile(`^([1-5][0-9][0-9]|[1-5]xx)$`)
	webhookPath  = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`)
	grpcMethod   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*/[A-Za-z_][A-Za-z0-9_]*$`)
)

var (
	arnForm = regexp.MustCompile(`^arn:[a-z-]+:lambda:[a-z0-9-]+:[0-9]{12}:function:[A-Za-z0-9_-]{1,140}(:[A-Za-z0-9_$-]{1,128})?$`)
	urlForm = regexp.MustCompile(`^https?://[^\s/?#]+([/?#]\S*)?$`)
)

func arnProblem(text string) (wrong, instead string) {
	if !arnForm.MatchString(text) {
		return fmt.Sprintf("%q is not the ARN of a Lambda function", clip(text)), "write arn:aws:lambda:<region>:<account>:function:<name>"
	}
	return "", ""
}

func urlProblem(text string) (wrong, instead string) {
	if !urlForm.MatchString(text) {
		return fmt.Sprintf("%q is not an address", clip(text)), "write the whole address, such as https://pay.example/charges"
	}
	return "", ""
}
