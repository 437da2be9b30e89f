package script_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/secret"
)

// TestErrorsShowNoHalfSecret: an error shows the line of the script that it comes from, cut to a bound; a secret that an expression put there is
// masked as a whole, wherever the cut is, and one of several lines shows none of them.
func TestErrorsShowNoHalfSecret(t *testing.T) {
	for name, value := range map[string]string{
		"one line": "ABCDEFGHIJABCDEFGHIJABCDEFGHIJABCDEFGHIJ",
		"lines":    "ABCDEFGHIJABCDEFGHIJ\nABCDEFGHIJABCDEFGHIJ\nABCDEFGHIJABCDEFGHIJ",
	} {
		t.Run(name, func(t *testing.T) {
			mask := secret.NewMask(secret.Value{Name: "pay", Text: value})
			for before := 0; before <= 130; before += 7 {
				for _, js := range []string{
					"\nconst s = `" + strings.Repeat("x", before) + value + "`; throw new Error('no')", // after it
					"\nconst s = input.y.z + `" + strings.Repeat("x", before) + value + "`",            // before it
					"const s = `" + strings.Repeat("x", before) + value + "` +",                        // in the syntax
				} {
					target, err := json.Marshal(map[string]string{"js": js})
					require.NoError(t, err)
					_, err = activity.Run(t.Context(), kind.Activity, &activity.Task{Target: activity.NewDocument(target), Mask: func() *secret.Mask { return mask }})
					require.Error(t, err)
					e, _ := activity.AsError(t.Context(), err)
					require.Contains(t, e.Message, "(line ", "%s", js)
					for i := range 10 {
						require.NotContains(t, e.Message+string(e.Details), "ABCDEFGHIJABCDEFGHIJ"[i:i+4], "%s", js)
					}
					if name == "one line" && before < 80 {
						require.Contains(t, e.Message, "[secret:pay]")
					}
				}
			}
		})
	}
}
