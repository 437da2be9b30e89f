package worker

import (
	"net/url"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// CallbackAddress is where the answer of a call comes in, under the base of an API.
func CallbackAddress(base, token string) string { return base + "/v1/callbacks/" + token }

// TaskAddress is where a person decides, under the base of an API.
func TaskAddress(base string, s eventstore.Stream, step string) string {
	return base + "/v1/executions/" + url.PathEscape(workflow.Segment(s.ID)) + "/tasks/" + url.PathEscape(workflow.Segment(step))
}
