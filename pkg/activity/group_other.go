//go:build !unix

package activity

import (
	"os/exec"
	"time"
)

// group is a program; here its children are not known.
type group struct{ cmd *exec.Cmd }

func newGroup(cmd *exec.Cmd) *group { return &group{cmd: cmd} }

// end kills the program: there is no polite way.
func (g *group) end(time.Duration) error { return g.cmd.Process.Kill() }

func (g *group) kill() {
	if g.cmd.Process != nil {
		_ = g.cmd.Process.Kill() // it has ended, as a rule
	}
}
