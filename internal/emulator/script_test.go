package emulator_test

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

const script = "../../localstack/ministack.sh"

// on runs the script for a port, with these descriptors from the third on, and returns what it says.
func on(t *testing.T, port, verb string, descriptors ...*os.File) string {
	t.Helper()
	cmd := exec.Command(script, verb)
	cmd.Env = append(os.Environ(), "PORT="+port)
	cmd.ExtraFiles = descriptors
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
	return string(said)
}

func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

func TestTheStartedEmulatorHoldsNoPipeOfItsCallersAndStopSaysWhatItDid(t *testing.T) {
	port, empty := freePort(t), freePort(t)
	read, write, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = exec.Command("env", "PORT="+port, script, "stop").Run() })
	on(t, port, "start", write)
	require.NoError(t, write.Close())
	_, err = io.ReadAll(read) // as `make aws-local 2>&1 | tail` reads: to the end
	require.NoError(t, err)

	require.Contains(t, on(t, empty, "stop"), "nothing to end there; it runs with", "the others are named")
	require.Contains(t, on(t, empty, "stop"), "PORT="+port)
	pidfile := filepath.Join("../../bin", "ministack-"+port+".pid")
	require.FileExists(t, pidfile)
	require.Contains(t, on(t, port, "stop"), "http://127.0.0.1:"+port+" is ended")
	require.NoFileExists(t, pidfile)
	require.Contains(t, on(t, port, "stop"), "nothing to end there")
	require.NoError(t, os.Remove(filepath.Join("../../bin", "ministack-"+port+".log")))
}
