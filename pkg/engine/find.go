package engine

import (
	"strconv"
	"strings"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// inst is one step of one frame, or a side step: what a path names. It is found by walking the path through the state,
// so that no index of names has to be kept.
type inst struct {
	frame *workflow.Frame
	step  *workflow.StepState
	node  *node
	path  string
	// host is the step that a side step belongs to; nil for others.
	host *inst
	side *workflow.SideStep
}

func (in *inst) open() *workflow.OpenStep { return in.step.Open }

// locate finds what a path names. ok is false if there is nothing there (any more).
func (x *fold) locate(path string) (in inst, ok bool) {
	if x.last.path == path && x.last.step != nil {
		return x.last, true
	}
	in, ok = x.lead(path)
	if ok {
		x.last = in
	}
	return in, ok
}

func (x *fold) lead(path string) (inst, bool) {
	f, rest := x.s.Root, path
	if f == nil {
		return inst{}, false
	}
	if x.s.Origin.Shard != nil {
		rest = strings.TrimPrefix(path, f.Prefix)
	}
	for {
		seg, tail, more := strings.Cut(rest, "/")
		name, suffix := seg, ""
		if cut := strings.IndexByte(seg, '!'); cut >= 0 {
			name, suffix = seg[:cut], seg[cut:]
		}
		b := x.p.bodies[f.Body]
		i, found := b.byName[name]
		if !found {
			return inst{}, false
		}
		in := inst{frame: f, step: &f.Steps[i], node: &b.nodes[i], path: path}
		switch {
		case suffix != "" && more:
			return inst{}, false
		case suffix != "":
			return x.sideOf(in, suffix, path)
		case !more:
			return in, true
		case len(in.node.bodies) == 0:
			return x.inAgent(in, tail, path)
		}
		if f, rest = x.inside(in, tail); f == nil {
			return inst{}, false
		}
	}
}

// inside enters the body of a structured step that the next part of a path names, and returns what is left of the path.
func (x *fold) inside(in inst, tail string) (*workflow.Frame, string) {
	if in.node.step.Group != nil {
		return x.frameAt(in, 0), tail
	}
	seg, rest, _ := strings.Cut(tail, "/")
	if in.node.step.Race != nil {
		for _, b := range in.node.bodies {
			if b.name == seg {
				return x.frameAt(in, b.branch), rest
			}
		}
		return nil, ""
	}
	i, err := strconv.Atoi(seg)
	if err != nil {
		return nil, ""
	}
	return x.frameAt(in, i), rest
}

// frameAt returns the frame of an item, branch or iteration, or nil.
func (x *fold) frameAt(in inst, index int) *workflow.Frame {
	if in.step.Open == nil || in.step.Open.Scope == nil {
		if in.step.Result == nil {
			return nil
		}
		return frameIn(in.step.Result.Frames, index)
	}
	sc := in.step.Open.Scope
	if in.node.step.Loop == nil {
		slot := index
		if in.node.step.Foreach != nil {
			slot -= x.firstItem(in)
		}
		if slot >= 0 && slot < len(sc.Frames) && sc.Frames[slot] != nil {
			return sc.Frames[slot]
		}
		return frameIn(sc.Kept, index)
	}
	if f := frameIn(sc.Frames, index); f != nil {
		return f
	}
	if sc.Previous != nil && sc.Previous.Index == index {
		return sc.Previous
	}
	return frameIn(sc.Kept, index)
}

func frameIn(list []*workflow.Frame, index int) *workflow.Frame {
	for _, f := range list {
		if f != nil && f.Index == index {
			return f
		}
	}
	return nil
}

// sideOf finds a side step of a step by its suffix.
func (x *fold) sideOf(host inst, suffix, path string) (inst, bool) {
	host.path = strings.TrimSuffix(path, suffix)
	in := inst{frame: host.frame, path: path, host: &host}
	switch {
	case suffix == undoSuffix:
		in.node = host.node.undo
		if top := len(x.s.Undo) - 1; top >= 0 && len(x.s.Undo[top].Shards) > 0 {
			in.node = undoShards
		}
		return x.sided(in, &x.s.Undoing)
	case strings.HasPrefix(suffix, notifySuffix) && host.step.Open != nil && host.step.Open.Task != nil:
		in.node = host.node.notify
		task := host.step.Open.Task
		in, ok := x.sided(in, &task.Notify)
		if ok && x.creating {
			task.Notified++
		}
		return in, ok
	}
	return inst{}, false
}

// notifyPath is the path of the next notification of a task: each has a name, and so an idempotency key, of its own.
func notifyPath(in inst) string {
	path := in.path + notifySuffix
	if n := in.open().Task.Notified; n > 0 {
		path += "-" + strconv.Itoa(n+1)
	}
	return path
}

// sided completes a side step, if it is there. While an event creates it, it is made.
func (x *fold) sided(in inst, slot **workflow.SideStep) (inst, bool) {
	if *slot == nil && x.creating && in.node != nil {
		*slot = newSide(in.path)
	}
	if in.side = *slot; in.side == nil || in.node == nil || in.side.Path != in.path {
		return inst{}, false
	}
	in.step = &in.side.Step
	return in, true
}

// inAgent finds an entry or a call of an agent: `turn`, `turn/call` or `turn/call!approve`.
func (x *fold) inAgent(host inst, tail, path string) (inst, bool) {
	host.path = path[:len(path)-len(tail)-1]
	if host.step.Open == nil || host.step.Open.Agent == nil {
		return inst{}, false
	}
	a := host.step.Open.Agent
	in := inst{frame: host.frame, path: path, host: &host}
	turn, call, isCall := strings.Cut(tail, "/")
	if !isCall {
		if turn != strconv.Itoa(a.Turn+1) {
			return inst{}, false
		}
		in.node = entryNode(host.node)
		return x.sided(in, &a.Entry)
	}
	if turn != strconv.Itoa(a.Turn) {
		return inst{}, false
	}
	id, asked := strings.CutSuffix(call, askSuffix)
	for i := range a.Calls {
		c := &a.Calls[i]
		switch {
		case c.Call.ID != id:
		case asked:
			in.node = approvalNode(&c.Call)
			return x.sided(in, &c.Approval)
		default:
			in.node = callNode(&c.Call)
			return x.sided(in, &c.Step)
		}
	}
	return inst{}, false
}

// child is the step i of a frame.
func (x *fold) child(f *workflow.Frame, i int) inst {
	n := &x.p.bodies[f.Body].nodes[i]
	path := n.step.Name
	if f.Prefix != "" {
		path = f.Prefix + path
	}
	return inst{frame: f, step: &f.Steps[i], node: n, path: path}
}

// container is the step whose body a frame is; ok is false for the root.
func (x *fold) container(f *workflow.Frame) (in inst, ok bool) {
	if f.Parent == nil {
		return inst{}, false
	}
	return x.child(f.Parent, f.Node), true
}

// prefixOf is what precedes the names of the steps in a body of a structured step.
func prefixOf(in inst, index int) string {
	switch {
	case in.node.step.Group != nil:
		return in.path + "/"
	case in.node.step.Race != nil:
		return in.path + "/" + in.node.bodies[index].name + "/"
	}
	return in.path + "/" + strconv.Itoa(index) + "/"
}
