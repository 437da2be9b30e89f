package api

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// checkQuery refuses words that an address does not take, those that stand twice, and those without a value: each would be lost in silence.
func checkQuery(r *http.Request, known []string) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return problem(http.StatusBadRequest, "query", "the query cannot be read", err.Error())
	}
	for _, word := range slices.Sorted(maps.Keys(query)) {
		switch values := query[word]; {
		case !slices.Contains(known, word) && len(known) == 0:
			return problem(http.StatusBadRequest, "query", "this address takes no query, but there is "+clip(strconv.Quote(word)), "")
		case !slices.Contains(known, word):
			return problem(http.StatusBadRequest, "query", "this address does not know "+clip(strconv.Quote(word)), "it takes "+strings.Join(known, ", "))
		case len(values) > 1:
			return problem(http.StatusBadRequest, "query", word+" stands more than once", "give it one value")
		case values[0] == "":
			return problem(http.StatusBadRequest, "query", word+" has no value", "leave it out to have no condition")
		}
	}
	return nil
}

func badQuery(word, value, takes string) error {
	return problem(http.StatusBadRequest, "query", fmt.Sprintf("%s cannot be %s", word, clip(strconv.Quote(value))), "it takes "+takes)
}

// boolean reads a word that is true or false; nil where it is absent.
func boolean(r *http.Request, word string) (*bool, error) {
	switch text := r.URL.Query().Get(word); text {
	case "":
		return nil, nil
	case "true", "false":
		yes := text == "true"
		return &yes, nil
	default:
		return nil, badQuery(word, text, "true or false")
	}
}

// oneOf reads a word that is one of a few; empty where it is absent.
func oneOf(r *http.Request, word string, known []string) (string, error) {
	text := r.URL.Query().Get(word)
	if text != "" && !slices.Contains(known, text) {
		return "", badQuery(word, text, "one of "+strings.Join(known, " | "))
	}
	return text, nil
}

func pageOf(r *http.Request) (eventstore.Page, error) {
	q := r.URL.Query()
	p := eventstore.Page{Cursor: q.Get("cursor")}
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > eventstore.MaxPage {
			return p, badQuery("limit", text, "a number from 1 to "+strconv.Itoa(eventstore.MaxPage))
		}
		p.Limit = n
	}
	return p, nil
}

// filterOf reads which executions are asked for.
func filterOf(r *http.Request) (f eventstore.Filter, err error) {
	q := r.URL.Query()
	f.Workflow, f.Parent = q.Get("workflow"), q.Get("parent")
	status, err := oneOf(r, "status", statuses())
	if err != nil {
		return f, err
	}
	if status != "" {
		f.Status = strings.ToUpper(status[:1]) + status[1:]
	}
	if f.Outcome, err = oneOf(r, "outcome", outcomes()); err != nil {
		return f, err
	}
	open, err := boolean(r, "open")
	if err != nil {
		return f, err
	}
	f.OpenOnly, f.ClosedOnly = open != nil && *open, open != nil && !*open
	if label := q.Get("label"); label != "" {
		key, value, both := strings.Cut(label, "=")
		if !both || key == "" {
			return f, badQuery("label", label, "key=value")
		}
		f.Label = eventstore.Label{Key: key, Value: value}
	}
	return f, nil
}

// statuses are the states of WF-006 §5, as people see them.
func statuses() []string {
	var out []string
	for s := range fsm.WorkflowStates() {
		out = append(out, strings.ToLower(s.String()))
	}
	return out
}

// outcomes are all that worker.Outcome says of an execution that has ended.
func outcomes() []string {
	return []string{
		string(workflow.OutcomeCompleted), string(workflow.OutcomeFailed), string(workflow.OutcomeCancelled), string(workflow.OutcomeTimedOut),
		"compensated", string(workflow.OutcomeCancelled) + ", compensated", string(workflow.OutcomeTimedOut) + ", compensated",
	}
}
