package expr

// Bounds of one evaluation. A step is about ten nanoseconds of work, so that no evaluation runs
// longer than some tens of milliseconds, whatever its input.
const (
	// MaxSource is the longest expression, in bytes.
	MaxSource = 16 << 10
	// maxSteps bounds the work of one evaluation.
	maxSteps = 1_000_000
	// maxBytes bounds the memory one evaluation may ask for, whether or not it is still in use.
	maxBytes = 64 << 20
	// bytesPerStep is how much text is read or copied in one step.
	bytesPerStep = 64
	// itemBytes is the memory of one item of a list.
	itemBytes = 16
)

// frame is the state of one evaluation.
type frame struct {
	act    *Activation
	steps  int   // left
	memory int   // left
	slots  []any // of local names
	args   []any // stack of arguments of calls
	space  [8]any
}

func newFrame(a *Activation, slots int) *frame {
	f := &frame{act: a, steps: maxSteps, memory: maxBytes}
	if slots <= len(f.space) {
		f.slots = f.space[:slots]
	} else {
		f.slots = make([]any, slots)
	}
	return f
}

// work accounts for n steps, before they are done.
func (f *frame) work(n int) *failure {
	if f.steps -= n; f.steps < 0 || n < 0 {
		f.steps = -1
		return failf(CodeCost, "the expression does too much work").
			or("work on smaller lists and texts, or let a script step do it")
	}
	return nil
}

// scan accounts for reading n bytes.
func (f *frame) scan(n int) *failure {
	if n < bytesPerStep {
		return nil
	}
	return f.work(n / bytesPerStep)
}

// bytes accounts for n bytes of new memory and for filling them.
func (f *frame) bytes(n int) *failure {
	if f.memory -= n; f.memory < 0 || n < 0 {
		f.memory = -1
		return failf(CodeCost, "the expression needs more than %d MiB of memory", maxBytes>>20).
			or("build smaller values, or let a script step do it")
	}
	return f.work(1 + n/bytesPerStep)
}

// items accounts for a new list of n items.
func (f *frame) items(n int) *failure {
	if n > maxBytes/itemBytes {
		n = maxBytes // and fail below
	}
	return f.bytes(n*itemBytes + 64)
}

// Activation holds the names that evaluations read. It keeps what was decoded, so one Activation
// serves all expressions of one decision, as long as the names stand for the same values. It is not safe
// for concurrent use.
type Activation struct {
	lookup func(name string) (Binding, bool)
	read   []lazyField
}

// NewActivation makes an Activation over a function from root name to value. The function is asked at
// most once a name; false means that there is no such name. Without a function there are no names.
func NewActivation(lookup func(name string) (Binding, bool)) *Activation {
	return &Activation{lookup: lookup}
}

func (a *Activation) resolve(name string) (any, bool) {
	for i := range a.read {
		if a.read[i].name == name {
			return a.read[i].val, a.read[i].found
		}
	}
	if a.lookup == nil {
		return nil, false
	}
	b, found := a.lookup(name)
	var v any
	if found {
		v = b.value()
	}
	a.read = append(a.read, lazyField{name, v, found})
	return v, found
}

func noName(name string) *failure {
	x := failf(CodeName, "there is no name `%s` here", name)
	if IsReserved(name) {
		return x.or("it exists only %s", reservedNames[name])
	}
	return x
}
