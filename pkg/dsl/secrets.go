package dsl

import (
	"encoding/json"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// SecretUse is a place of a definition that names a secret.
type SecretUse struct {
	Name string
	// At is where the text that names it begins; zero for that of a trigger, whose place a definition does not keep.
	At workflow.Position
}

// Secrets lists the secrets that a definition names, each at its first place in each call: in the expressions of what activities get
// and in the verification of webhooks. Whether there are such secrets is for whoever keeps them to say.
func Secrets(def *workflow.Definition) []SecretUse {
	l := &secretList{}
	l.body(&def.Body)
	for i := range def.Triggers {
		if w := def.Triggers[i].Webhook; w != nil {
			l.add(w.Verify.HMACSHA256, workflow.Position{})
			l.add(w.Verify.Bearer, workflow.Position{})
		}
	}
	return l.uses
}

type secretList struct{ uses []SecretUse }

func (l *secretList) add(name string, at workflow.Position) {
	if name != "" {
		l.uses = append(l.uses, SecretUse{name, at})
	}
}

func (l *secretList) body(b *workflow.Body) {
	for i := range b.Steps {
		st := &b.Steps[i]
		l.call(st.Call)
		if st.Compensate != nil {
			l.call(st.Compensate.Call)
		}
		if st.Human != nil {
			l.call(st.Human.Notify)
		}
		switch {
		case st.Foreach != nil:
			l.body(&st.Foreach.Body)
		case st.Loop != nil:
			l.body(&st.Loop.Body)
		case st.Group != nil:
			l.body(&st.Group.Body)
		case st.Race != nil:
			for k := range st.Race.Branches {
				l.body(&st.Race.Branches[k].Body)
			}
		}
	}
}

func (l *secretList) call(c *workflow.Call) {
	if c == nil {
		return
	}
	seen := map[string]bool{}
	for _, t := range []*workflow.Template{c.Target, c.With} {
		if t == nil {
			continue
		}
		x, err := expr.LoadTemplate(t)
		if err != nil {
			continue // a definition that no compiler made
		}
		for _, r := range x.Reads() {
			if r.Root == "secrets" && len(r.Path) > 0 && !seen[r.Path[0]] {
				seen[r.Path[0]] = true
				l.add(r.Path[0], placeOfSecret(t, r.Path[0]))
			}
		}
	}
}

// placeOfSecret is where the text begins that names a secret.
func placeOfSecret(t *workflow.Template, name string) workflow.Position {
	var tree any
	if json.Unmarshal(t.JSON, &tree) == nil {
		for _, leaf := range t.Leaves {
			if text, ok := stringAt(tree, leaf.Pointer); ok && offsetOfRead(text, "secrets", name) >= 0 {
				return leaf.At
			}
		}
	}
	return t.At
}
