package egress_test

import (
	"encoding/json"
	"net/netip"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity/egress"
)

// TestRemedy: the error names host and port, and what it says to write allows this call, and no other port.
func TestRemedy(t *testing.T) {
	p, other := serve(t, "127.0.0.1:0", fine), serve(t, "127.0.0.1:0", fine)
	names := newNameServer(t, func(string) []netip.Addr { return []netip.Addr{netip.MustParseAddr("127.0.0.1")} })
	for _, host := range []string{"127.0.0.1", "[::ffff:127.0.0.1]", "pay.corp.example"} {
		typed := requireForbidden(t, get(&egress.Guard{Resolver: names.resolver()}, "http://"+host+":"+p.port()+"/"), host)
		require.Contains(t, typed.Message, ":"+p.port())
		var details struct{ Host, Port, Address string }
		require.NoError(t, json.Unmarshal(typed.Details, &details))
		require.Equal(t, p.port(), details.Port)
		require.NotEmpty(t, details.Host)
		entry := regexp.MustCompile(`egress: \{ allow: \[ "([^"]+)" \] \}`).FindStringSubmatch(typed.Message)
		require.NotNil(t, entry, typed.Message)
		allowing, err := (&egress.Guard{Resolver: names.resolver()}).With(entry[1])
		require.NoError(t, err)
		require.NoError(t, get(allowing, "http://"+host+":"+p.port()+"/"), typed.Message)
		requireForbidden(t, get(allowing, "http://"+host+":"+other.port()+"/"), host)
	}
}
