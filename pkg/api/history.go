package api

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/worker"
)

// historyCommits is how many commits a page of history holds.
const historyCommits = 200

func (s *Server) history(r *http.Request) (answer, error) {
	after := uint64(0)
	if text := r.URL.Query().Get("after"); text != "" {
		var err error
		if after, err = strconv.ParseUint(text, 10, 63); err != nil {
			return answer{}, badQuery("after", text, "the version of an event, a number")
		}
	}
	events, err := s.Worker.History(r.Context(), s.stream(r), after, historyCommits)
	if err != nil {
		return answer{}, err
	}
	if len(events) == 0 && after == 0 {
		return answer{}, worker.ErrNoExecution
	}
	out := client.Page[client.Event]{Items: make([]client.Event, 0, len(events))}
	const frame = 100
	for left := s.MaxAnswer - frame; len(out.Items) < len(events); {
		e := events[len(out.Items)]
		view, err := ViewEvent(e)
		if err != nil {
			return answer{}, err
		}
		if s.MaxAnswer > 0 {
			text, err := json.Marshal(view)
			if err != nil {
				return answer{}, err
			}
			if left -= escaped(text) + len(","); left < 0 && len(out.Items) > 0 {
				break // the next page begins with it
			}
		}
		out.Items = append(out.Items, view)
		out.Next = strconv.FormatUint(e.Version, 10)
	}
	return ok(out)
}

// ViewEvent is what people see of an event: its step and attempt stand out of its data.
func ViewEvent(e worker.HistoryEvent) (client.Event, error) {
	out := client.Event{Type: e.Event.Type().String(), Version: e.Version, At: moment(e.At), Worker: e.Worker, CommitBytes: e.Bytes}
	text, err := json.Marshal(e.Event)
	if err != nil {
		return out, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return out, err
	}
	if step, ok := fields["step"]; ok {
		_ = json.Unmarshal(step, &out.Step) // it is a string
		delete(fields, "step")
	}
	if attempt, ok := fields["attempt"]; ok {
		_ = json.Unmarshal(attempt, &out.Attempt) // it is a number
		delete(fields, "attempt")
	}
	if len(fields) > 0 {
		out.Data, err = json.Marshal(fields)
	}
	return out, err
}
