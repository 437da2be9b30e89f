package dsl

import (
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// statuses are what steps.<name>.status can be.
var statuses = []string{"pending", "completed", "caught", "failed", "skipped", "cancelled"}

// comparedStatus finds a comparison of a status with a text, either way round.
var comparedStatus = regexp.MustCompile(`\b(?:steps|previous)\.\??[A-Za-z_][A-Za-z0-9_]*\.\??status\s*[=!]=\s*(?:"([^"\\]*)"|'([^'\\]*)')|` +
	`(?:"([^"\\]*)"|'([^'\\]*)')\s*[=!]=\s*(?:steps|previous)\.\??[A-Za-z_][A-Za-z0-9_]*\.\??status\b`)

// statusSynonyms are the words of other languages.
var statusSynonyms = map[string]string{"success": "completed", "succeeded": "completed", "done": "completed", "complete": "completed", "ok": "completed",
	"error": "failed", "failure": "failed", "canceled": "cancelled", "running": "pending", "waiting": "pending", "ignored": "skipped"}

// checkStatuses warns of a status compared with a word that no status is. It looks at the text, so that it sees only
// what is written plainly.
func (a *analysis) checkStatuses() {
	for _, s := range a.sites {
		if s.unit == nil || len(s.steps) == 0 {
			continue
		}
		s.leaves(func(text string, at workflow.Position) bool {
			for _, m := range comparedStatus.FindAllStringSubmatchIndex(text, -1) {
				for group := 2; group < len(m); group += 2 {
					if from, to := m[group], m[group+1]; from >= 0 && !slices.Contains(statuses, text[from:to]) {
						a.warnStatus(s, at, text, from, to)
					}
				}
			}
			return true
		})
	}
}

func (a *analysis) warnStatus(s *site, at workflow.Position, text string, from, to int) {
	word := text[from:to]
	suggestion := "a status is " + oneOf(statuses)
	if right := statusSynonyms[word]; right != "" {
		suggestion = "write \"" + right + "\""
	} else if near := nearest(word, statuses); near != "" {
		suggestion = "did you mean \"" + near + "\"?"
	}
	a.sink.warnAt(a.inside(s, at, from), utf8.RuneCountInString(word), "dsl/status", suggestion, "no step ever has the status %q", clip(word))
}
