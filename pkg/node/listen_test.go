package node_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/node"
	"github.com/wovyr/wovyr/pkg/project"
)

// TestListensHereOnly: the API has no authorization, so no other machine may reach it.
func TestListensHereOnly(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:0"} {
		_, err := node.Open(node.Options{Project: &project.Project{}, Data: t.TempDir(), Listen: address})
		require.ErrorContains(t, err, "other machines", address)
	}
	_, err := node.Open(node.Options{Project: &project.Project{}, Data: t.TempDir(), Listen: "nonsense"})
	require.ErrorContains(t, err, "127.0.0.1:7233")
}
