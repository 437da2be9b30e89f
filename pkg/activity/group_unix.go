//go:build unix

package activity

import (
	"os/exec"
	"syscall"
	"time"
)

// group is a program and all that it starts.
type group struct {
	cmd  *exec.Cmd
	last *time.Timer
}

func newGroup(cmd *exec.Cmd) *group {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return &group{cmd: cmd}
}

// end asks the group to stop, and kills what is still there after the grace.
func (g *group) end(grace time.Duration) error {
	g.last = time.AfterFunc(grace, g.sigkill)
	return syscall.Kill(-g.cmd.Process.Pid, syscall.SIGTERM)
}

// kill ends what is left of the group; nothing may be.
func (g *group) kill() {
	if g.last != nil {
		g.last.Stop()
	}
	if g.cmd.Process != nil {
		g.sigkill()
	}
}

func (g *group) sigkill() {
	_ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL) // ESRCH: there is none
}
