package aws

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"
)

// httpEvent is an event of an HTTP API, as API Gateway sends it; authorizer is the part of the request's context that says who called, with its comma.
func httpEvent(method, path, query, authorizer, body, encoded string) string {
	return `{"version": "2.0", "routeKey": "ANY /{path+}", "rawPath": "` + path + `", "rawQueryString": "` + query + `",
"cookies": ["session=1"],
"headers": {"accept": "*/*", "content-length": "13", "content-type": "application/json", "host": "a1b2c3d4e5.execute-api.eu-north-1.amazonaws.com",
  "x-amzn-trace-id": "Root=1-5e66d96f-7491f09xmpl79d18acf3d050", "x-forwarded-for": "203.0.113.7, 198.51.100.2", "x-forwarded-port": "443", "x-forwarded-proto": "https"},
"queryStringParameters": {"limit": "5"},
"requestContext": {"accountId": "111122223333", "apiId": "a1b2c3d4e5", ` + authorizer + `
  "domainName": "a1b2c3d4e5.execute-api.eu-north-1.amazonaws.com", "domainPrefix": "a1b2c3d4e5",
  "http": {"method": "` + method + `", "path": "` + path + `", "protocol": "HTTP/1.1", "sourceIp": "203.0.113.7", "userAgent": "wovyr/1"},
  "requestId": "JKJaXmPLvHcESHA=", "routeKey": "ANY /{path+}", "stage": "$default", "time": "10/Mar/2026:05:16:23 +0000", "timeEpoch": 1773119783636},
"pathParameters": {"path": "v1/executions"}, "body": ` + body + `, "isBase64Encoded": ` + encoded + `}`
}

const (
	jwtCaller = `"authorizer": {"jwt": {"claims": {"aud": "wovyr", "exp": "1773123383", "iss": "https://issuer.example", "sub": "00u1ann", "tenant": "acme", "groups": "[ops dev]"}, "scopes": null}},`
	jwtOfNone = `"authorizer": {"jwt": {"claims": {"aud": "wovyr", "iss": "https://issuer.example", "sub": "00u1ann"}, "scopes": ["a"]}},`
	iamCaller = `"authorizer": {"iam": {"accessKey": "ASIAXMPL", "accountId": "111122223333", "callerId": "AROAXMPL:ann@example.com", "cognitoIdentity": null, "principalOrgId": "o-xmpl",
  "userArn": "arn:aws:sts::111122223333:assumed-role/Operators/ann@example.com", "userId": "AROAXMPL:ann@example.com"}},`
)

// restEvent is an event of a REST API; identity is who called.
func restEvent(method, path, identity, query, body, encoded string) string {
	return `{"resource": "/{path+}", "path": "` + path + `", "httpMethod": "` + method + `",
"headers": {"Accept": "*/*", "Content-Type": "application/json", "Host": "a1b2c3d4e5.execute-api.eu-north-1.amazonaws.com", "X-Forwarded-For": "203.0.113.7"},
"multiValueHeaders": {"Accept": ["*/*"], "Content-Type": ["application/json"], "Host": ["a1b2c3d4e5.execute-api.eu-north-1.amazonaws.com"], "X-Forwarded-For": ["203.0.113.7"]},
"queryStringParameters": null, "multiValueQueryStringParameters": ` + query + `, "pathParameters": {"path": "v1/executions"}, "stageVariables": null,
"requestContext": {"resourceId": "2gxmpl", "resourcePath": "/{path+}", "httpMethod": "` + method + `", "extendedRequestId": "JJbxmplHYosFVYQ=", "requestTime": "10/Mar/2026:00:03:59 +0000",
  "path": "/api` + path + `", "accountId": "111122223333", "protocol": "HTTP/1.1", "stage": "api", "domainPrefix": "a1b2c3d4e5", "requestTimeEpoch": 1773101039820,
  "requestId": "c6af9ac6-7b61-11e6-9a41-93e8deadbeef", "identity": ` + identity + `, "domainName": "a1b2c3d4e5.execute-api.eu-north-1.amazonaws.com", "apiId": "a1b2c3d4e5"},
"body": ` + body + `, "isBase64Encoded": ` + encoded + `}`
}

const (
	restIAM = `{"cognitoIdentityPoolId": null, "accountId": "111122223333", "cognitoIdentityId": null, "caller": "AIDAXMPL", "sourceIp": "203.0.113.7", "principalOrgId": "o-xmpl",
  "accessKey": "AKIAXMPL", "cognitoAuthenticationType": null, "cognitoAuthenticationProvider": null, "userArn": "arn:aws:iam::111122223333:user/ann", "userAgent": "wovyr/1", "user": "AIDAXMPL"}`
	restAnybody = `{"cognitoIdentityPoolId": null, "accountId": null, "caller": null, "sourceIp": "203.0.113.7", "accessKey": null, "userArn": null, "userAgent": "wovyr/1", "user": null}`
)

// seen is what a handler of HTTP gets to see of a request.
type seen struct {
	Caller            Caller
	Method, URI, Body string
	Host, Kind        string
	Step              string
}

// echo answers with what it saw, as the API's handler would route it.
func echo(c Caller) http.Handler {
	mux := http.NewServeMux()
	show := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Add("Allow", "GET")
		w.Header().Add("Allow", "POST")
		w.WriteHeader(http.StatusAccepted)
		_ = json.NewEncoder(w).Encode(seen{Caller: c, Method: r.Method, URI: r.URL.RequestURI(), Body: string(body), Host: r.Host, Kind: r.Header.Get("Content-Type"), Step: r.PathValue("step")})
	}
	mux.HandleFunc("/", show)
	mux.HandleFunc("POST /v1/executions/{id}/tasks/{step}", show)
	return mux
}

func TestRequests(t *testing.T) {
	const ann, host = "arn:aws:sts::111122223333:assumed-role/Operators/ann@example.com", "a1b2c3d4e5.execute-api.eu-north-1.amazonaws.com"
	for name, tc := range map[string]struct {
		claim, event string
		want         seen
		status       int
	}{
		"HTTP API, signed": {event: httpEvent("POST", "/v1/executions", "", iamCaller, `"{\"workflow\":1}"`, "false"),
			want: seen{Caller: Caller{"default", ann}, Method: "POST", URI: "/v1/executions", Body: `{"workflow":1}`}},
		"HTTP API, token": {event: httpEvent("GET", "/v1/executions", "limit=5&label=a%3Db&label=c", jwtCaller, "null", "false"),
			want: seen{Caller: Caller{"default", "00u1ann"}, Method: "GET", URI: "/v1/executions?limit=5&label=a%3Db&label=c"}},
		"HTTP API, token with a tenant": {claim: "tenant", event: httpEvent("GET", "/v1/executions", "", jwtCaller, "null", "false"),
			want: seen{Caller: Caller{"acme", "00u1ann"}, Method: "GET", URI: "/v1/executions"}},
		"HTTP API, token without its tenant":                {claim: "tenant", event: httpEvent("GET", "/v1/executions", "", jwtOfNone, "null", "false"), status: http.StatusForbidden},
		"HTTP API, no token where tenants are told by them": {claim: "tenant", event: httpEvent("GET", "/v1/executions", "", "", "null", "false"), status: http.StatusForbidden},
		"HTTP API, a callback, whose token says the tenant": {claim: "tenant", event: httpEvent("POST", "/v1/callbacks/t0k3n", "", "", `"{}"`, "false"),
			want: seen{Caller: Caller{"default", ""}, Method: "POST", URI: "/v1/callbacks/t0k3n", Body: "{}"}},
		"HTTP API, body in base64": {event: httpEvent("POST", "/v1/events", "", iamCaller, `"AP8="`, "true"),
			want: seen{Caller: Caller{"default", ann}, Method: "POST", URI: "/v1/events", Body: "\x00\xff"}},
		"HTTP API, a body that is no base64": {event: httpEvent("POST", "/v1/events", "", iamCaller, `"%"`, "true"), status: http.StatusBadRequest},
		"HTTP API, a step with a slash": {event: httpEvent("POST", "/v1/executions/e-1/tasks/all%2F3%2Fok", "", iamCaller, `"{}"`, "false"),
			want: seen{Caller: Caller{"default", ann}, Method: "POST", URI: "/v1/executions/e-1/tasks/all%2F3%2Fok", Body: "{}", Step: "all/3/ok"}},
		"HTTP API, a path whose escapes are undone": {event: httpEvent("GET", "/v1/ex 100%?#ä", "", iamCaller, "null", "false"),
			want: seen{Caller: Caller{"default", ann}, Method: "GET", URI: "/v1/ex%20100%25%3F%23%C3%A4"}},
		"REST API, signed": {event: restEvent("POST", "/v1/executions", restIAM, "null", `"{\"workflow\":1}"`, "false"),
			want: seen{Caller: Caller{"default", "arn:aws:iam::111122223333:user/ann"}, Method: "POST", URI: "/v1/executions", Body: `{"workflow":1}`}},
		"REST API, query": {event: restEvent("GET", "/v1/executions", restIAM, `{"label": ["a=b", "c"], "limit": ["5"]}`, "null", "false"),
			want: seen{Caller: Caller{"default", "arn:aws:iam::111122223333:user/ann"}, Method: "GET", URI: "/v1/executions?label=a%3Db&label=c&limit=5"}},
		"HTTP API, a webhook, whose path says the tenant": {claim: "tenant", event: httpEvent("POST", "/hooks/acme/git/push", "", "", `"{}"`, "false"),
			want: seen{Caller: Caller{"acme", ""}, Method: "POST", URI: "/hooks/git/push", Body: "{}"}},
		"HTTP API, a webhook of a tenant with a slash": {claim: "tenant", event: httpEvent("POST", "/hooks/ac%2Fme/git", "", "", `"{}"`, "false"),
			want: seen{Caller: Caller{"ac/me", ""}, Method: "POST", URI: "/hooks/git", Body: "{}"}},
		"HTTP API, a webhook of no tenant": {claim: "tenant", event: httpEvent("POST", "/hooks/git", "", "", `"{}"`, "false"), status: http.StatusForbidden},
		"HTTP API, a webhook where all are of one tenant": {event: httpEvent("POST", "/hooks/acme/git/push", "", "", `"{}"`, "false"),
			want: seen{Caller: Caller{"default", ""}, Method: "POST", URI: "/hooks/acme/git/push", Body: "{}"}},
		"REST API, a callback": {event: restEvent("POST", "/v1/callbacks/t0k3n", restAnybody, "null", `"{}"`, "false"),
			want: seen{Caller: Caller{"default", ""}, Method: "POST", URI: "/v1/callbacks/t0k3n", Body: "{}"}},
		"REST API, body in base64": {event: restEvent("POST", "/v1/events", restIAM, "null", `"AP8="`, "true"),
			want: seen{Caller: Caller{"default", "arn:aws:iam::111122223333:user/ann"}, Method: "POST", URI: "/v1/events", Body: "\x00\xff"}},
		"REST API, tenants are told by tokens": {claim: "tenant", event: restEvent("GET", "/v1/executions", restIAM, "null", "null", "false"), status: http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Platform{config: Config{Tenant: "default", TenantClaim: tc.claim}}
			answer, err := p.HTTP(echo)(t.Context(), json.RawMessage(tc.event))
			require.NoError(t, err)
			status, header, body := parts(t, answer)
			if tc.status != 0 {
				require.Equal(t, tc.status, status, body)
				return
			}
			require.Equal(t, http.StatusAccepted, status, body)
			require.Equal(t, map[string]string{"Content-Type": "application/json", "Allow": "GET, POST"}, header)
			var got seen
			require.NoError(t, json.Unmarshal([]byte(body), &got))
			tc.want.Host, tc.want.Kind, tc.want.Body = host, "application/json", valid(tc.want.Body)
			require.Equal(t, tc.want, got)
		})
	}
}

// valid is a text as JSON carries it.
func valid(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	var out string
	if err := json.Unmarshal(text, &out); err != nil {
		panic(err)
	}
	return out
}

func parts(t *testing.T, answer any) (int, map[string]string, string) {
	switch a := answer.(type) {
	case events.APIGatewayV2HTTPResponse:
		return a.StatusCode, a.Headers, a.Body
	case events.APIGatewayProxyResponse:
		return a.StatusCode, a.Headers, a.Body
	}
	require.Failf(t, "no answer of API Gateway", "%T", answer)
	return 0, nil, ""
}

func TestAnswersThatAreNoText(t *testing.T) {
	p := &Platform{config: Config{Tenant: "default"}}
	bytes := func(Caller) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0xff, 0}) })
	}
	answer, err := p.HTTP(bytes)(t.Context(), json.RawMessage(httpEvent("GET", "/v1/x", "", iamCaller, "null", "false")))
	require.NoError(t, err)
	require.Equal(t, events.APIGatewayV2HTTPResponse{StatusCode: http.StatusOK, Headers: map[string]string{}, Body: "/wA=", IsBase64Encoded: true}, answer)
}

func TestEventsThatAreNoRequests(t *testing.T) {
	p := &Platform{config: Config{Tenant: "default"}}
	for _, event := range []string{``, `[]`, `{"version": "2.0", "rawPath": 7}`, `{"path": 7}`} {
		_, err := p.HTTP(echo)(t.Context(), json.RawMessage(event))
		require.Error(t, err, event)
	}
}
