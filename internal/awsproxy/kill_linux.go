package awsproxy

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// kill ends the process at the other end of a connection, at once, and reports whether it was found. Only a process whose environment holds the
// proxy's address is: a function that Attach put behind it.
func (p *Proxy) kill(remote string) bool {
	pid, ok := p.owner(remote)
	return ok && syscall.Kill(pid, syscall.SIGKILL) == nil
}

// owner is the process that holds the socket of an address of this machine.
func (p *Proxy) owner(remote string) (pid int, ok bool) {
	at, err := netip.ParseAddrPort(remote)
	if err != nil || !at.Addr().Is4() {
		return 0, false
	}
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return 0, false
	}
	octets := at.Addr().As4()
	want := strings.ToUpper(hex.EncodeToString(binary.LittleEndian.AppendUint32(nil, binary.BigEndian.Uint32(octets[:])))) + fmt.Sprintf(":%04X", at.Port())
	var socket string
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) > 9 && f[1] == want && f[9] != "0" {
			socket = "socket:[" + f[9] + "]"
		}
	}
	if socket == "" {
		return 0, false
	}
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, false
	}
	for _, process := range processes {
		environment, err := os.ReadFile(filepath.Join(process, "environ"))
		if err != nil || !slices.Contains(strings.Split(string(environment), "\x00"), "AWS_ENDPOINT_URL_DYNAMODB="+p.URL) {
			continue
		}
		files, _ := filepath.Glob(filepath.Join(process, "fd", "*")) // one that is gone has none
		for _, f := range files {
			if to, err := os.Readlink(f); err == nil && to == socket {
				pid, err := strconv.Atoi(filepath.Base(process))
				return pid, err == nil
			}
		}
	}
	return 0, false
}
