package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/webhook"
	"github.com/wovyr/wovyr/pkg/workflow"
)

func ExampleVerify() {
	verify := workflow.Verify{HMACSHA256: "github_secret", Header: "X-Hub-Signature-256"}
	request := http.Header{"X-Hub-Signature-256": {"sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"}}
	secret := "It's a Secret to Everybody"
	fmt.Println(webhook.Verify(verify, secret, request, []byte("Hello, World!"), time.Now()))
	fmt.Println(webhook.Verify(verify, secret, request, []byte("Hello, world!"), time.Now()))
	// Output:
	// <nil>
	// webhook: the sender is not who he must be
}

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func mac(key, text string) []byte {
	m := hmac.New(sha256.New, []byte(key))
	m.Write([]byte(text))
	return m.Sum(nil)
}

// TestSenders: requests as their senders document them are let in, and none of them with one thing changed.
func TestSenders(t *testing.T) {
	const slack = "token=x&command=%2Fpay"
	slackSigned := hex.EncodeToString(mac("8f742231b10e8888", "v0:1531420618:"+slack))
	const body = `{"id":"evt_1"}`
	stripe := hex.EncodeToString(mac("whsec_x", "1700000000."+body))
	for name, c := range map[string]struct {
		verify       workflow.Verify
		secret, body string
		header       http.Header
		at           int64 // 0: no time is signed
	}{
		"bearer":     {workflow.Verify{Bearer: "k"}, "sesame42", body, header("Authorization", "Bearer sesame42"), 0},
		"hex":        {workflow.Verify{HMACSHA256: "k", Header: "X-Signature"}, "key-of-8", body, header("X-Signature", hex.EncodeToString(mac("key-of-8", body))), 0},
		"upper case": {workflow.Verify{HMACSHA256: "k", Header: "x-signature"}, "key-of-8", body, header("X-Signature", strings.ToUpper(hex.EncodeToString(mac("key-of-8", body)))), 0},
		"shopify":    {workflow.Verify{HMACSHA256: "k", Header: "X-Shopify-Hmac-Sha256"}, "key-of-8", body, header("X-Shopify-Hmac-Sha256", base64.StdEncoding.EncodeToString(mac("key-of-8", body))), 0},
		"github":     {workflow.Verify{HMACSHA256: "k", Header: "X-Hub-Signature-256"}, "It's a Secret to Everybody", "Hello, World!", header("X-Hub-Signature-256", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"), 0},
		"stripe":     {workflow.Verify{HMACSHA256: "k", Header: "Stripe-Signature"}, "whsec_x", body, header("Stripe-Signature", "t=1700000000,v0=6ffb,v1="+strings.Repeat("0", 64)+",v1="+stripe), 1700000000},
		"standard": {workflow.Verify{HMACSHA256: "k", Header: "webhook-signature"}, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", `{"test": 2432232314}`,
			header("Webhook-Id", "msg_p5jXN8AQM9LWM0D4loKWxJek", "Webhook-Timestamp", "1614265330", "Webhook-Signature", "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg== v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="), 1614265330},
		"slack": {workflow.Verify{HMACSHA256: "k", Header: "X-Slack-Signature"}, "8f742231b10e8888", slack,
			header("X-Slack-Request-Timestamp", "1531420618", "X-Slack-Signature", "v0="+slackSigned), 1531420618},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(c.at, 0)
			verify := func(secret string, h http.Header, body string, at time.Time) error {
				return webhook.Verify(c.verify, secret, h, []byte(body), at)
			}
			require.NoError(t, verify(c.secret, c.header, c.body, now))
			require.ErrorIs(t, verify(c.secret+"x", c.header, c.body, now), webhook.ErrRefused)
			require.ErrorIs(t, verify("", c.header, c.body, now), webhook.ErrRefused)
			require.ErrorIs(t, verify(c.secret, http.Header{}, c.body, now), webhook.ErrRefused)
			if c.verify.Bearer == "" {
				require.ErrorIs(t, verify(c.secret, c.header, c.body+" ", now), webhook.ErrRefused)
			}
			for _, off := range []time.Duration{webhook.Tolerance, -webhook.Tolerance} {
				require.NoError(t, verify(c.secret, c.header, c.body, now.Add(off)))
				if c.at != 0 {
					require.ErrorIs(t, verify(c.secret, c.header, c.body, now.Add(2*off)), webhook.ErrRefused, "kept by somebody and sent later")
				}
			}
			for key := range c.header { // order-free: each is for itself
				changed := c.header.Clone()
				changed.Set(key, changed.Get(key)+"7")
				require.ErrorIs(t, verify(c.secret, changed, c.body, now), webhook.ErrRefused, key)
			}
		})
	}
}

// TestASignatureOfAnotherForm: what was signed with a time is not taken as signed without one.
func TestASignatureOfAnotherForm(t *testing.T) {
	const body = `{"id":"evt_1"}`
	signature := hex.EncodeToString(mac("sesame42", "1700000000."+body))
	verify := workflow.Verify{HMACSHA256: "k", Header: "Stripe-Signature"}
	require.NoError(t, webhook.Verify(verify, "sesame42", header("Stripe-Signature", "t=1700000000,v1="+signature), []byte(body), time.Unix(1700000000, 0)))
	require.ErrorIs(t, webhook.Verify(verify, "sesame42", header("Stripe-Signature", signature), []byte("1700000000."+body), time.Unix(1700000000, 0)), webhook.ErrRefused)
	require.ErrorIs(t, webhook.Verify(verify, "sesame42", header("Stripe-Signature", "v1="+hex.EncodeToString(mac("sesame42", "."+body))), []byte(body), time.Unix(0, 0)), webhook.ErrRefused)
}

func TestDelivery(t *testing.T) {
	plain := workflow.Verify{HMACSHA256: "k", Header: "X-Signature"}
	for name, c := range map[string]struct {
		header http.Header
		body   string
		id     string
		own    bool
	}{
		"github":           {header("X-GitHub-Delivery", "72d3162e"), "{}", "72d3162e", true},
		"idempotency key":  {header("Idempotency-Key", "a"), "{}", "a", true},
		"standard first":   {header("Idempotency-Key", "a", "Webhook-Id", "msg"), "{}", "msg", true},
		"an ID in no body": {header(), `{"id":"evt_1"}`, "", false},
	} {
		for _, v := range []workflow.Verify{plain, {Bearer: "k"}} {
			id, own := webhook.Delivery(v, c.header, []byte(c.body))
			require.Equal(t, c.own, own, name)
			if c.own {
				require.Equal(t, c.id, id, name)
			} else {
				require.Regexp(t, `^sha256:[0-9a-f]{64}$`, id, name)
			}
		}
	}
	for _, odd := range []string{strings.Repeat("x", 10_000), "\xff"} {
		id, own := webhook.Delivery(plain, header("Ce-Id", odd), nil)
		require.True(t, own)
		require.Regexp(t, `^sha256:[0-9a-f]{64}$`, id)
	}
	one, _ := webhook.Delivery(plain, header(), []byte("a"))
	two, _ := webhook.Delivery(plain, header(), []byte("b"))
	require.NotEqual(t, one, two)
}

// TestWhatIsSignedTellsDeliveriesApart: where a time is signed, a request that somebody kept is the same delivery and the same event whatever is put beside what is signed.
func TestWhatIsSignedTellsDeliveriesApart(t *testing.T) {
	for name, c := range map[string]struct {
		header http.Header
		body   string
		id     string // empty: the hash of the body
	}{
		"Stripe-Signature":         {header(), `{"id":"evt_1","type":"charge"}`, "evt_1"},
		"stripe-signature":         {header(), `{"id":7}`, ""},
		"Webhook-Signature":        {header("Webhook-Id", "msg"), `{"id":"other"}`, "msg"},
		"Svix-Signature":           {header("Svix-Id", "msg"), `{}`, "msg"},
		"X-Slack-Signature":        {header(), `{"event_id":"Ev1","type":"event_callback"}`, "Ev1"},
		"x-slack-signature":        {header(), `command=%2Fpay&trigger_id=1`, ""},
		"Svix-Signature, no ID":    {header(), `{}`, ""},
		"Webhook-Signature, no ID": {header(), `{}`, ""},
	} {
		signed, _, _ := strings.Cut(name, ",")
		v := workflow.Verify{HMACSHA256: "k", Header: signed}
		plain := c.header.Clone()
		plain.Set(signed, "v1,x")
		id, own := webhook.Delivery(v, plain, []byte(c.body))
		require.Equal(t, c.id != "", own, name)
		if own {
			require.Equal(t, c.id, id, name)
		}
		for _, beside := range []string{"Webhook-Id", "Svix-Id", "Idempotency-Key", "X-Github-Delivery", "X-Gitlab-Event-Uuid", "X-Shopify-Webhook-Id", "Ce-Id", "Ce-Type", "X-Github-Event"} {
			if c.header.Get(beside) != "" || strings.TrimSuffix(beside, "Id") == strings.TrimSuffix(signed, "Signature") {
				continue // signed
			}
			changed := plain.Clone()
			changed.Set(beside, "another")
			same, _ := webhook.Delivery(v, changed, []byte(c.body))
			require.Equal(t, id, same, "%s with %s", name, beside)
			require.Empty(t, webhook.EventType(v, changed), "%s with %s", name, beside)
		}
	}
}

func TestEventType(t *testing.T) {
	v := workflow.Verify{Bearer: "k"}
	require.Equal(t, "push", webhook.EventType(v, header("X-GitHub-Event", "push")))
	require.Empty(t, webhook.EventType(v, header()))
	require.Empty(t, webhook.EventType(v, header("Ce-Type", "\xff")))
	require.Empty(t, webhook.EventType(v, header("Ce-Type", strings.Repeat("x", 201))))
}

func TestValue(t *testing.T) {
	for name, c := range map[string]struct{ kind, body, want string }{
		"json":             {"application/json; charset=utf-8", ` {"a": 1} `, `{"a":1}`},
		"of a kind":        {"application/cloudevents+json", `[1]`, `[1]`},
		"nothing":          {"application/json", ``, `null`},
		"form":             {"application/x-www-form-urlencoded", `a=1&b=2&b=3+4&c=`, `{"a":"1","b":["2","3 4"],"c":""}`},
		"text":             {"text/plain", `{"a":1}`, `"{\"a\":1}"`},
		"json by itself":   {"", `{"a":1}`, `{"a":1}`},
		"text by itself":   {"", `a`, `"a"`},
		"bytes":            {"application/octet-stream", "\xff\x00", `"/wA="`},
		"a type that none": {"@@@", `7`, `7`},
	} {
		v, err := webhook.Value(c.kind, []byte(c.body))
		require.NoError(t, err, name)
		require.JSONEq(t, c.want, string(v), name)
	}
	for kind, body := range map[string]string{"application/json": `{`, "application/x-www-form-urlencoded": `a=%zz`} {
		_, err := webhook.Value(kind, []byte(body))
		require.Error(t, err, kind)
	}
}

// FuzzVerify: no header of a stranger lets him in, and none breaks the check.
func FuzzVerify(f *testing.F) {
	f.Add("Stripe-Signature", "t=1,v1=00", "1", []byte("{}"))
	f.Add("Webhook-Signature", "v1,AAAA v1,", "", []byte(""))
	f.Add("X-Slack-Signature", "v0=", "x", []byte("\xff"))
	f.Add("Authorization", "Bearer ", "", []byte(""))
	f.Fuzz(func(t *testing.T, name, value, at string, body []byte) {
		h := header("X", value)
		h[http.CanonicalHeaderKey(name)] = []string{value}
		h["X-Slack-Request-Timestamp"], h["Webhook-Timestamp"], h["Webhook-Id"] = []string{at}, []string{at}, []string{at}
		for _, v := range []workflow.Verify{{Bearer: "k"}, {HMACSHA256: "k", Header: name}} {
			require.ErrorIs(t, webhook.Verify(v, "a secret that nobody guesses", h, body, time.Unix(1, 0)), webhook.ErrRefused)
		}
		id, _ := webhook.Delivery(workflow.Verify{HMACSHA256: "k", Header: name}, h, body)
		require.NotEmpty(t, id)
		if v, err := webhook.Value(value, body); err == nil {
			require.NotEmpty(t, v)
		}
	})
}
