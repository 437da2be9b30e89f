package engine

import (
	"strconv"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Agent loops: an attempt may ask for calls; each is an activity of its own, and with their results the step is entered
// again. Names: `step/turn/call`, and `step/turn` for the entry that follows on turn-1.

func (t *Turn) isEntry(in inst) bool {
	return in.host != nil && in.host.open() != nil && in.host.open().Agent != nil && in.host.open().Agent.Entry == in.side
}

// checkCalls refuses calls that cannot be named.
func (t *Turn) checkCalls(r workflow.ActivityResult) error {
	if len(r.Continue.Calls) > MaxCalls {
		return refuse(r, "it asks for %d calls at once, more than %d", len(r.Continue.Calls), MaxCalls)
	}
	ids := map[string]bool{}
	for _, c := range r.Continue.Calls {
		if !isIdentifier(c.ID) || ids[c.ID] || kindOf(callNode(&c).step) != callKind {
			return refuse(r, "call %q: its ID must be an identifier, unique in the turn, and its kind one that workers run", c.ID)
		}
		ids[c.ID] = true
	}
	return nil
}

func isIdentifier(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return s != "" && len(s) <= 128
}

// agentTurn takes the calls that an attempt asks for.
func (t *Turn) agentTurn(in inst, c *workflow.AgentContinue) {
	host := in
	if t.isEntry(in) {
		host = *in.host
		t.complete(in, workflow.Payload{})
	} else if in.side != nil {
		t.fail(in, workflow.Errorf("agent.nested", workflow.CategoryActivity, "a call of an agent cannot be an agent itself"), false)
		return
	}
	turn := host.open().Turns + 1
	if turn > MaxTurns {
		t.fail(host, workflow.Errorf("agent.max_turns", workflow.CategoryActivity, "the agent took more than %d turns", MaxTurns), false)
		return
	}
	t.move(workflow.AgentTurn{Step: host.path, Turn: turn, Calls: c.Calls, State: c.State})
}

// advanceAgent starts the calls of a turn, and the next entry once all have ended.
func advanceAgent(t *Turn, in inst) {
	a := in.open().Agent
	if a == nil {
		if in.open().TimedOut {
			t.timeOut(in)
		}
		return
	}
	if t.stopped(in.frame) && t.winding(in) || a.Entry != nil {
		return
	}
	open := false
	for i := range a.Calls {
		c := &a.Calls[i]
		if c.Done {
			continue
		}
		open = true
		if c.Approval == nil && c.Step == nil && !t.startAgentCall(in, c) {
			return
		}
	}
	if open || !t.fits(64) {
		return
	}
	t.startSide(in.path + "/" + strconv.Itoa(a.Turn+1))
}

// startAgentCall starts a call, or the task in which people approve it.
func (t *Turn) startAgentCall(in inst, c *workflow.CallState) bool {
	if !t.fits(weighPayload(c.Call.Input) + 64) {
		return false
	}
	path := in.path + "/" + strconv.Itoa(in.open().Agent.Turn) + "/" + c.Call.ID
	if len(c.Call.Approve) > 0 && !c.Approved {
		path += askSuffix
	}
	t.startSide(path)
	return true
}
