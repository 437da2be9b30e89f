package engine

import (
	"github.com/wovyr/wovyr/pkg/workflow"
)

// memory is how many bytes an attempt of a step may use: what the step says, else the workflow; 0: no limit.
func (x *fold) memory(st *workflow.Step) int64 {
	if st.MaxMemory > 0 {
		return st.MaxMemory
	}
	return x.p.def.Limits.MaxMemory
}

// memoryRefusal is the error of a step that asks for more memory than its workflow allows, or than the workers have that would run it; it is
// asked before each attempt is scheduled (WF-002 §20), so nothing is dispatched that could only fail.
func (t *Turn) memoryRefusal(in inst) *workflow.Error {
	st := in.node.step
	need, most := t.memory(st), t.p.def.Limits.MaxMemory
	if most > 0 && need > most {
		return workflow.Errorf("limits.memory", workflow.CategoryWorkflow,
			"the step asks for %d bytes of memory, and the workflow allows %d for each activity: lower limits.max_memory of the step, or raise that of the workflow", need, most)
	}
	if t.env.Memory == nil || need == 0 {
		return nil
	}
	if have := t.env.Memory(string(st.Kind), st.Call.Name); have > 0 && need > have {
		return workflow.Errorf("limits.memory", workflow.CategoryWorkflow,
			"the step asks for %d bytes of memory, and the workers that run it have %d: lower limits.max_memory, or give the workers more", need, have)
	}
	return nil
}
