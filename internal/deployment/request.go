package deployment

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/aws/meter"
)

// Request sends a request to the API, as a client does, and decodes the answer into out, unless that is nil. It returns how long the client waited.
func (d *Deployment) Request(method, path string, body, out any) time.Duration {
	text, is := body.(string)
	if !is && body != nil {
		b, err := json.Marshal(body)
		require.NoError(d.t, err)
		text = string(b)
	}
	e := events.APIGatewayV2HTTPRequest{Version: "2.0", RawPath: path, Body: text, Headers: map[string]string{"content-type": "application/json"}}
	e.RequestContext.HTTP.Method = method
	start := time.Now()
	time.Sleep(d.dice.draw(gateway))
	answer, err := d.functions[functionAPI].invoke(e)
	took := time.Since(start)
	require.NoError(d.t, err)
	d.meter.Add(meter.With(context.Background(), meter.Label{Step: functionAPI}), meter.HTTPRequest, 1)
	r := answer.(events.APIGatewayV2HTTPResponse)
	require.Less(d.t, r.StatusCode, http.StatusMultipleChoices, r.Body)
	if out != nil {
		require.NoError(d.t, json.Unmarshal([]byte(r.Body), out))
	}
	return took
}
