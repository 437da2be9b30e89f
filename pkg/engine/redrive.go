package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Redrive: an execution that ended is never run on (WF-006 §8). A new execution takes over the completed results of the
// old one and goes on from there, on the same or on a newer version (semantics 36 to 39).

// RedriveOptions say what a redrive keeps.
type RedriveOptions struct {
	// Execution is the ID of the new execution; By, who asks for it.
	Execution, By string
	// From are steps that run again, with all that follows on them; empty: those that did not end well. A step inside
	// a body is named by its path.
	From []string
	// Definition and Hash name the version that the new execution runs.
	Definition, Hash string
	// Input replaces the input; nil keeps it. Only steps that run again see it.
	Input *workflow.Payload
}

// Redrive makes the start of an execution that goes on where another one failed or was cancelled. p is the program of
// the new execution's version, history the whole of the old one's. It fails for an execution that is still open, and for
// one whose work was undone.
func Redrive(p *Program, history []workflow.Recorded, o RedriveOptions) (workflow.Start, error) {
	old, err := readHistory(history)
	if err != nil {
		return workflow.Start{}, err
	}
	if old.compensated {
		return workflow.Start{}, errors.New("engine: the work of this execution was undone, so there is nothing to go on from: start a new one")
	}
	for _, from := range o.From {
		if b, _, _ := p.bodyOf(from); b == nil {
			return workflow.Start{}, fmt.Errorf("engine: redrive from %s: there is no such step in version %s", from, o.Definition)
		}
	}
	start := workflow.Start{
		Execution: o.Execution, Tenant: old.created.Tenant, Workflow: old.created.Workflow, Definition: o.Definition, Hash: o.Hash,
		Correlation: old.created.Correlation, By: o.By, Labels: old.created.Labels, Input: old.created.Input,
	}
	if o.Input != nil {
		start.Input = *o.Input
	}
	taken := p.takeable(old, o.From)
	p.strip(taken)
	start.Origin.Redrive = &workflow.Redrive{Of: old.created.Execution, Taken: taken}
	if n := weigh(workflow.WorkflowCreated{Origin: start.Origin}); n > MaxEventBytes-slack {
		return start, tooLarge("what the new execution takes over", n, MaxEventBytes-slack)
	}
	return start, nil
}

// strip drops the outputs that nothing in the new execution can read: those of steps whose consumers were all taken over.
func (p *Program) strip(taken []workflow.Taken) {
	ended := map[string]bool{}
	for i := range taken {
		ended[taken[i].Step] = taken[i].Status.Ended()
	}
	for i := range taken {
		b, name, prefix := p.bodyOf(taken[i].Step)
		n := &b.nodes[b.byName[name]]
		read := n.held || n.heldUndo || n.undo != nil
		for _, e := range n.out {
			read = read || !ended[prefix+b.nodes[e.node].step.Name]
		}
		if !read {
			taken[i].Output, taken[i].Error = workflow.Payload{}, nil
		}
	}
}

// RedriveShard makes the start of a shard that takes over the results of the shard c.Redrive of an execution that was
// redriven. history is the whole of that shard's; it must have ended.
func RedriveShard(p *Program, history []workflow.Recorded, c workflow.StartChild) (workflow.Start, error) {
	old, err := readHistory(history)
	if err != nil {
		return workflow.Start{}, err
	}
	start := workflow.Start{
		Execution: c.Child, Tenant: c.Tenant, Workflow: c.Workflow, Definition: c.Definition, Hash: c.Hash, Correlation: c.Correlation,
		Input: c.Input, Origin: workflow.Origin{Parent: &c.Parent, Shard: c.Shard},
	}
	taken := p.takeable(old, nil)
	start.Origin.Redrive = &workflow.Redrive{Of: c.Redrive, Taken: taken}
	if n := weigh(workflow.WorkflowCreated{Origin: start.Origin}); n > MaxEventBytes-slack {
		return start, tooLarge("what the shard takes over", n, MaxEventBytes-slack)
	}
	return start, nil
}

// Undo makes the start of an execution that undoes what a shard completed: parent started it for the compensation of its
// foreach. history is the whole of the shard's.
func Undo(history []workflow.Recorded, c workflow.StartChild) (workflow.Start, error) {
	old, err := readHistory(history)
	if err != nil {
		return workflow.Start{}, err
	}
	start := workflow.Start{
		Execution: c.Child, Tenant: old.created.Tenant, Workflow: old.created.Workflow, Definition: old.created.Definition, Hash: old.created.Hash,
		Correlation: old.created.Correlation, Input: old.created.Input, Origin: workflow.Origin{Parent: &c.Parent, Shard: old.created.Origin.Shard},
	}
	start.Origin.Redrive = &workflow.Redrive{Of: old.created.Execution, Taken: old.all(func(*workflow.Taken) bool { return true }), Undo: true}
	return start, nil
}

// oldRun is what a history says of the ends of steps.
type oldRun struct {
	created     workflow.WorkflowCreated
	compensated bool
	taken       map[string]*workflow.Taken
}

// readHistory collects the ends of all steps.
func readHistory(history []workflow.Recorded) (*oldRun, error) {
	old := &oldRun{taken: map[string]*workflow.Taken{}}
	ended := false
	for i := range history {
		switch e := history[i].Event.(type) {
		case workflow.WorkflowCreated:
			old.created = e
		case workflow.WorkflowCompleted, workflow.WorkflowFailed, workflow.WorkflowCancelled:
			ended = true
		case workflow.CompensationStarted:
			ended = false
		case workflow.CompensationCompleted:
			ended, old.compensated = true, true
		default:
			old.read(&history[i])
		}
	}
	if !ended {
		return nil, errors.New("engine: the execution has not ended: only one that has can be followed by another")
	}
	return old, nil
}

func (old *oldRun) at(step string) *workflow.Taken {
	t := old.taken[step]
	if t == nil {
		t = &workflow.Taken{Step: step}
		old.taken[step] = t
	}
	return t
}

// read notes what one event says of a step.
func (old *oldRun) read(r *workflow.Recorded) {
	switch e := r.Event.(type) {
	case workflow.ActivityScheduled:
		old.at(e.Step).Attempts = e.Attempt
	case workflow.ActivityStarted:
		if t := old.at(e.Step); t.StartedAt == 0 {
			if t.StartedAt = e.StartedAt; t.StartedAt == 0 {
				t.StartedAt = r.At
			}
		}
	case workflow.ActivityCompleted:
		t := old.at(e.Step)
		t.Status, t.Output, t.Then, t.EndedAt, t.Order = workflow.StatusCompleted, e.Output, e.Then, r.At, r.Version
	case workflow.ActivityCaught:
		t := old.at(e.Step)
		t.Status, t.Output, t.Then, t.EndedAt, t.Order = workflow.StatusCaught, e.Output, e.Then, r.At, r.Version
	case workflow.ActivitySkipped:
		t := old.at(e.Step)
		t.Status, t.EndedAt, t.Order = e.Status, r.At, r.Version
	case workflow.ActivityFailed:
		t := old.at(e.Step)
		if t.Error, t.Status = e.Error, e.Status; t.Status.Ended() {
			t.EndedAt, t.Order = r.At, r.Version
		}
	case workflow.VariablesSet:
		t := old.at(e.Step)
		t.Given = e.Given
		for _, v := range e.Vars {
			t.Vars = setVar(t.Vars[:len(t.Vars):len(t.Vars)], v)
		}
	case workflow.ChildRequested:
		if e.Shard > 0 {
			t := old.at(e.Step)
			t.Shards = append(t.Shards, e.Child)
		}
	case workflow.ChildEnded:
		old.at(e.Step).Failed += e.Failed
	case workflow.ScopeClosed:
		if e.Error != nil {
			old.at(e.Step).Failed++
		}
	case workflow.ItemsSet:
		t := old.at(e.Step)
		t.Items, t.Whole, t.Count = e.Items, e.Whole, e.Count
	}
}

// all lists what is known of the steps that are wanted, sorted by path; side steps are not among them.
func (old *oldRun) all(want func(*workflow.Taken) bool) []workflow.Taken {
	paths := make([]string, 0, len(old.taken))
	for path := range old.taken { // order-free: they are sorted below
		paths = append(paths, path)
	}
	slices.Sort(paths)
	var list []workflow.Taken
	for _, path := range paths {
		if t := old.taken[path]; !strings.ContainsRune(path, '!') && want(t) {
			list = append(list, *t)
		}
	}
	return list
}

// takes reports whether what is known of a step can be taken over: its end, or the items of a foreach that was under way.
func takes(t *workflow.Taken) bool {
	switch t.Status {
	case workflow.StatusCompleted, workflow.StatusCaught, workflow.StatusSkipped:
		return true
	}
	return t.Count > 0
}

// takeable lists what a new execution takes over: everything that ended well but the steps that run again, what follows on
// them, and what this version does not have. Vars of steps that run again are not taken over.
func (p *Program) takeable(old *oldRun, from []string) []workflow.Taken {
	again := map[string]bool{}
	for _, path := range from {
		p.rerun(again, path)
	}
	var list []workflow.Taken
	for _, t := range old.all(takes) {
		b, name, _ := p.bodyOf(t.Step)
		if b == nil || runsAgain(again, t.Step) || p.inExit(t.Step) {
			continue
		}
		open := !t.Status.Ended() || t.Status == workflow.StatusFailed || t.Status == workflow.StatusCancelled
		if len(from) > 0 && holdsAgain(again, t.Step) { // what is around a step that runs again is open
			if t.Count == 0 {
				continue
			}
			open, t.Shards = true, nil
		}
		switch n := &b.nodes[b.byName[name]]; {
		case open: // of a foreach, its items
			t = workflow.Taken{Step: t.Step, Items: t.Items, Whole: t.Whole, Count: t.Count, Shards: t.Shards}
		case !n.entered() || len(t.Shards) > 0:
			t.Items, t.Whole = nil, nil
		}
		list = append(list, t)
	}
	return list
}

// inExit reports whether a step belongs to on_exit or lies inside one that does: those run anew, for another end.
func (p *Program) inExit(path string) bool {
	top, _, _ := strings.Cut(path, "/")
	i, ok := p.root().byName[top]
	return ok && p.root().nodes[i].exit()
}

// entered reports whether a step that completed in another execution is entered and not just taken over: what is inside it
// sets variables, or can be undone and has no compensation that stands for all of it.
func (n *node) entered() bool { return setsInside(n) || n.undo == nil && canUndo(n) }

func setsInside(n *node) bool {
	for _, b := range n.bodies {
		for i := range b.nodes {
			if b.nodes[i].step.Set != nil || setsInside(&b.nodes[i]) {
				return true
			}
		}
	}
	return false
}

// rerun marks a step, all that follows on it in its body, and all that follows on the steps around it, which are open again.
func (p *Program) rerun(again map[string]bool, path string) {
	b, name, prefix := p.bodyOf(path)
	if b == nil {
		return
	}
	b.follow(again, prefix, int(b.byName[name]))
	for b.owner != nil {
		owner := b.owner
		if b, _, prefix = p.bodyOf(ownerPath(b, prefix)); b == nil {
			return
		}
		for _, e := range owner.out {
			b.follow(again, prefix, e.node)
		}
	}
}

// follow marks a step and what needs it or is picked by it.
func (b *body) follow(again map[string]bool, prefix string, i int) {
	path := prefix + b.nodes[i].step.Name
	if again[path] {
		return
	}
	again[path] = true
	for _, e := range b.nodes[i].out {
		b.follow(again, prefix, e.node)
	}
	for _, q := range b.nodes[i].picks {
		b.follow(again, prefix, q)
	}
}

// ownerPath is the path of the step around a body, from the prefix of the body's steps.
func ownerPath(b *body, prefix string) string {
	path := strings.TrimSuffix(prefix, "/")
	if b.owner.step.Group == nil {
		path = path[:strings.LastIndexByte(path, '/')]
	}
	return path
}

// runsAgain reports whether a step is marked, or lies inside a marked one.
func runsAgain(again map[string]bool, path string) bool {
	for {
		if again[path] {
			return true
		}
		cut := strings.LastIndexByte(path, '/')
		if cut < 0 {
			return false
		}
		path = path[:cut]
	}
}

// holdsAgain reports whether a marked step lies inside a step.
func holdsAgain(again map[string]bool, path string) bool {
	for marked := range again { // order-free: any of them will do
		if strings.HasPrefix(marked, path+"/") {
			return true
		}
	}
	return false
}

// undoOnly: the execution exists to undo the work of another one.
func (x *fold) undoOnly() bool { r := x.s.Origin.Redrive; return r != nil && r.Undo }

// taken finds what is to be taken over for a step.
func (x *fold) taken(path string) (int, bool) {
	r := x.s.Origin.Redrive
	if r == nil || len(r.Taken) == 0 {
		return 0, false
	}
	return slices.BinarySearchFunc(r.Taken, path, func(t workflow.Taken, path string) int { return strings.Compare(t.Step, path) })
}

// takenItems are the items of a foreach that ran in the other execution; ok is false if it did not.
func (x *fold) takenItems(path string) (list itemList, ok bool) {
	if i, found := x.taken(path); found {
		k := &x.s.Origin.Redrive.Taken[i]
		return itemList{items: k.Items, whole: k.Whole, count: k.Count}, k.Count > 0
	}
	return list, false
}

// takenEnd is what a step came to in the other execution; the zero value if it is not taken over.
func (x *fold) takenEnd(path string) workflow.Taken {
	if i, ok := x.taken(path); ok {
		return x.s.Origin.Redrive.Taken[i]
	}
	return workflow.Taken{}
}

// relives reports whether a step with bodies is entered only to take over what is inside it: nothing in it runs anew,
// no expression of it is evaluated, and it comes to the end it had.
func (x *fold) relives(in inst) bool {
	if x.s.Origin.Redrive == nil {
		return false
	}
	for at, ok := in, true; ok; at, ok = x.container(at.frame) {
		if x.undoOnly() || len(at.node.bodies) > 0 && x.takenEnd(at.path).Status == workflow.StatusCompleted {
			return true
		}
	}
	return false
}

// relivesIn reports the same of a body; of the workflow's own body in an execution that only undoes.
func (x *fold) relivesIn(f *workflow.Frame) bool {
	in, ok := x.container(f)
	return x.undoOnly() || ok && x.relives(in)
}

// takenShard is the shard of the other execution whose results shard k takes over; empty if there is none.
func (x *fold) takenShard(path string, k int) string {
	if i, ok := x.taken(path); ok && !x.undoOnly() {
		if shards := x.s.Origin.Redrive.Taken[i].Shards; k < len(shards) {
			return shards[k]
		}
	}
	return ""
}

// takeOver ends a step with the result that it had in the other execution. A structured step that only was under way is
// not ended: what completed inside it is taken over as it comes.
func (t *Turn) takeOver(in inst) bool {
	i, ok := t.taken(in.path)
	if t.relivesIn(in.frame) {
		return t.relive(in, i, ok)
	}
	if !ok {
		return false
	}
	k := t.s.Origin.Redrive.Taken[i]
	switch k.Status {
	case workflow.StatusSkipped:
		t.move(workflow.ActivitySkipped{Step: in.path, Status: k.Status})
	case workflow.StatusCompleted:
		if in.node.entered() && len(k.Shards) == 0 && (k.Count > 0 || t.takenInside(in.path)) {
			return false
		}
		t.walk(in)
		t.takeVars(in, k)
		t.move(workflow.ActivityCompleted{Step: in.path, Output: k.Output, Then: k.Then, Taken: true})
	case workflow.StatusCaught:
		t.takeCaught(in, k)
	default:
		return false
	}
	return true
}

// takeVars gives variables the values that a step gave them; those that are combined are combined anew.
func (t *Turn) takeVars(in inst, k workflow.Taken) {
	if len(k.Vars) == 0 {
		return
	}
	vars := append([]workflow.Variable(nil), k.Vars...)
	for i := range vars {
		for _, g := range k.Given {
			if how := reductionOf(in.node, g.Name); g.Name == vars[i].Name && how != "" {
				if v, err := t.reduce(how, g.Name, g.Value); err == nil {
					vars[i].Value = v
				}
			}
		}
	}
	t.emit(workflow.VariablesSet{Step: in.path, Vars: vars, Given: k.Given})
}

func (t *Turn) takeCaught(in inst, k workflow.Taken) {
	t.walk(in)
	t.move(workflow.ActivityFailed{Step: in.path, Error: errorOr(k.Error)})
	t.move(workflow.ActivityCaught{Step: in.path, Output: k.Output, Then: k.Then, Taken: true})
}

// relive takes over a step inside one that relives: nothing is run anew, and what did not come to an end that counts is passed
// over. What is inside a step is entered if it sets variables or can be undone.
func (t *Turn) relive(in inst, i int, ok bool) bool {
	var k workflow.Taken
	if ok {
		k = t.s.Origin.Redrive.Taken[i]
	}
	c := in.node.step.Compensate
	completed := k.Status == workflow.StatusCompleted
	switch {
	case len(in.node.bodies) > 0 && len(k.Shards) == 0 && t.takenInside(in.path) && (!completed || in.node.entered()):
		return false
	case completed:
		t.walk(in)
		t.takeVars(in, k)
		t.move(workflow.ActivityCompleted{Step: in.path, Output: k.Output, Then: k.Then, Taken: true})
	case len(k.Shards) > 0, k.Status == workflow.StatusCaught, c != nil && c.Attempted && (k.Status == workflow.StatusFailed || k.Status == workflow.StatusCancelled):
		t.takeCaught(in, k)
	default:
		t.move(workflow.ActivitySkipped{Step: in.path, Status: workflow.StatusSkipped})
	}
	return true
}

// takenInside reports whether anything inside a step is taken over.
func (x *fold) takenInside(path string) bool {
	list := x.s.Origin.Redrive.Taken
	i, _ := slices.BinarySearchFunc(list, path+"/", func(t workflow.Taken, path string) int { return strings.Compare(t.Step, path) })
	return i < len(list) && strings.HasPrefix(list[i].Step, path+"/")
}

func errorOr(e *workflow.Error) *workflow.Error {
	if e == nil {
		return workflow.Errorf("activity.unknown", workflow.CategoryActivity, "the error is not in the history")
	}
	return e
}
