package meter

import (
	"bytes"
	"fmt"
)

// Names of the function that a rewritten module imports, and how often it is called.
const (
	// Module and Tick name the import: a function without parameters and results.
	Module = "wovyr"
	Tick   = "tick"
	// Every is how many loops and calls lie between two ticks: some tenths of a millisecond.
	Every = 1 << 14
)

// Result is a rewritten module and what is to be known of it.
type Result struct {
	Module []byte
	// MinPages is the memory that it has at its start, in pages of 64 KiB. It has one memory if Memory is set.
	MinPages uint32
	Memory   bool
	// Elements is how many places its tables have, which never grow.
	Elements uint64
	// Imports are the functions that it imports, as "module.name", without Tick.
	Imports []string
	// Exports are the names that it exports.
	Exports map[string]bool
}

// Sections of a module, in the order in which they stand.
const (
	sectionCustom = iota
	sectionType
	sectionImport
	sectionFunction
	sectionTable
	sectionMemory
	sectionGlobal
	sectionExport
	sectionStart
	sectionElement
	sectionCode
	sectionData
	sectionDataCount
)

// order is where each section stands; they are written in this order.
var order = []byte{sectionType, sectionImport, sectionFunction, sectionTable, sectionMemory, sectionGlobal, sectionExport, sectionStart,
	sectionElement, sectionDataCount, sectionCode, sectionData}

var header = []byte("\x00asm\x01\x00\x00\x00")

// Rewrite returns the module with counters. Its debugging sections are gone; names of functions are kept.
func Rewrite(module []byte) (*Result, error) {
	if !bytes.HasPrefix(module, header) {
		return nil, fmt.Errorf("it is no WebAssembly module: it does not begin with \\0asm and version 1")
	}
	m := &rewriter{sections: map[byte][]byte{}, result: &Result{Exports: map[string]bool{}}}
	r := &reader{bytes: module, at: len(header)}
	for r.more() {
		m.section(r.byte(), r.name())
	}
	if r.err != nil {
		return nil, r.err
	}
	if err := m.rewrite(); err != nil {
		return nil, err
	}
	out := append([]byte{}, header...)
	for _, id := range order {
		if s, there := m.sections[id]; there {
			out = appendBytes(append(out, id), s)
		}
	}
	if len(m.names) > 0 {
		out = appendBytes(append(out, sectionCustom), m.names)
	}
	m.result.Module = out
	return m.result, nil
}

// rewriter holds a module while it is rewritten.
type rewriter struct {
	sections map[byte][]byte
	names    []byte // the custom section "name"
	result   *Result
	err      error

	types, importedFunctions uint32 // how many there are
	functions, bodies        uint32 // of the module's own
	globals                  uint32
	refill                   uint32 // the function that is added; the counter is the global behind the last one
}

func (m *rewriter) section(id byte, body []byte) {
	if m.err != nil {
		return
	}
	if id == sectionCustom {
		r := &reader{bytes: body}
		if string(r.name()) == "name" && r.err == nil && m.names == nil {
			m.names = body
		}
		return
	}
	if _, twice := m.sections[id]; twice || !bytes.Contains(order, []byte{id}) {
		m.err = fmt.Errorf("section %d is none of WebAssembly 2.0, or there twice", id)
		return
	}
	m.sections[id] = body
}

// rewrite changes the sections. Imports come first in each numbering, so the import that is added moves all functions of the module
// itself by one; what is added behind moves nothing.
func (m *rewriter) rewrite() error {
	if m.err != nil {
		return m.err
	}
	m.count(sectionType, &m.types)
	m.count(sectionFunction, &m.functions)
	m.count(sectionGlobal, &m.globals)
	m.count(sectionCode, &m.bodies)
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"types", m.addType}, {"imports", m.addImport}, {"functions", m.addFunction}, {"tables", m.tables}, {"memory", m.memory}, {"globals", m.addGlobal},
		{"exports", m.exports}, {"start", m.start}, {"elements", m.elements}, {"code", m.code},
	} {
		if m.err == nil {
			if err := step.do(); err != nil {
				m.err = fmt.Errorf("%s: %w", step.what, err)
			}
		}
	}
	m.renumberNames()
	return m.err
}

// reader reads a part that has code.
func (m *rewriter) reader(body []byte) *reader { return &reader{bytes: body, globals: m.globals} }

// count reads how many entries a section has.
func (m *rewriter) count(id byte, n *uint32) {
	if body, there := m.sections[id]; there && m.err == nil {
		r := &reader{bytes: body}
		*n = r.u32()
		m.err = r.err
	}
}

// behind returns a section with one entry more, added at its end.
func (m *rewriter) behind(id byte, n uint32, entry []byte) {
	r := &reader{bytes: m.sections[id]}
	if len(r.bytes) > 0 {
		r.u32()
	}
	out := appendU32(make([]byte, 0, len(r.bytes)+len(entry)+5), n+1)
	m.sections[id] = append(append(out, r.bytes[r.at:]...), entry...)
}

func (m *rewriter) addType() error {
	m.behind(sectionType, m.types, []byte{0x60, 0, 0})
	return nil
}

func (m *rewriter) addImport() error {
	r := &reader{bytes: m.sections[sectionImport]}
	n := uint32(0)
	if len(r.bytes) > 0 {
		n = r.u32()
	}
	for range n {
		module, name := r.name(), r.name()
		switch kind := r.byte(); kind {
		case 0:
			r.u32()
			m.importedFunctions++
			m.result.Imports = append(m.result.Imports, string(module)+"."+string(name))
			if string(module) == Module && string(name) == Tick {
				r.fail("it imports %s.%s, which is not for scripts", Module, Tick)
			}
		case 1, 2, 3:
			r.fail("it imports %s.%s, which is no function: tables, memories and globals must be its own", module, name)
		default:
			r.fail("import of kind %d", kind)
		}
		if r.err != nil {
			return r.err
		}
	}
	entry := appendBytes(appendBytes(nil, []byte(Module)), []byte(Tick))
	m.behind(sectionImport, n, appendU32(append(entry, 0), m.types))
	m.refill = m.importedFunctions + 1 + m.functions
	return nil
}

func (m *rewriter) addFunction() error {
	if m.functions != m.bodies {
		return fmt.Errorf("%d functions have %d bodies", m.functions, m.bodies)
	}
	m.behind(sectionFunction, m.functions, appendU32(nil, m.types))
	return nil
}

func (m *rewriter) tables() error {
	body, there := m.sections[sectionTable]
	if !there {
		return nil
	}
	r := &reader{bytes: body}
	for n := r.u32(); n > 0 && r.err == nil; n-- {
		r.valueType()
		flags := r.byte()
		m.result.Elements += uint64(r.u32())
		if flags == 1 {
			r.u32()
		} else if flags != 0 {
			r.fail("table with flags 0x%02x", flags)
		}
	}
	return r.err
}

func (m *rewriter) memory() error {
	body, there := m.sections[sectionMemory]
	if !there {
		return nil
	}
	r := &reader{bytes: body}
	if n := r.u32(); n != 1 {
		if n == 0 {
			return r.err
		}
		return fmt.Errorf("it has %d memories", n)
	}
	if flags := r.byte(); flags > 1 {
		return fmt.Errorf("its memory is shared or of 64 bits")
	}
	m.result.MinPages, m.result.Memory = r.u32(), true
	return r.err
}

func (m *rewriter) addGlobal() error {
	if body, there := m.sections[sectionGlobal]; there {
		r, out := m.reader(body), []byte(nil)
		for range r.u32() {
			from := r.at
			r.valueType()
			r.byte()
			out = append(out, body[from:min(r.at, len(body))]...)
			out = m.constant(r, out)
			if r.err != nil {
				return r.err
			}
		}
		m.sections[sectionGlobal] = append(appendU32(nil, m.globals), out...)
	}
	entry := append(appendS32([]byte{0x7f, 1, opI32Const}, Every), opEnd)
	m.behind(sectionGlobal, m.globals, entry)
	return nil
}

// constant copies a constant expression.
func (m *rewriter) constant(r *reader, out []byte) []byte {
	for r.err == nil {
		from := r.at
		op := r.byte()
		ref, function := r.instruction(op)
		out = m.copy(r, out, from, ref, function)
		if op == opEnd {
			break
		}
	}
	return out
}

// copy appends what was read since from; the number of a function in it, if there is one, is moved.
func (m *rewriter) copy(r *reader, out []byte, from, ref int, function uint32) []byte {
	if r.err != nil {
		return out
	}
	if ref > 0 {
		return appendU32(append(out, r.bytes[from:ref]...), m.moved(function))
	}
	return append(out, r.bytes[from:r.at]...)
}

// moved is the new number of a function.
func (m *rewriter) moved(function uint32) uint32 {
	if function < m.importedFunctions {
		return function
	}
	if function >= m.importedFunctions+m.functions {
		return ^uint32(0) // it does not exist, and must not become one that was added
	}
	return function + 1
}

func (m *rewriter) exports() error {
	body, there := m.sections[sectionExport]
	if !there {
		return nil
	}
	r := &reader{bytes: body}
	n := r.u32()
	out := appendU32(nil, n)
	for range n {
		from := r.at
		name := r.name()
		kind, at := r.byte(), r.at
		index := r.u32()
		if kind == 3 && index >= m.globals {
			r.fail("global %d does not exist", index)
		}
		if r.err != nil {
			return r.err
		}
		if kind != 0 {
			at = 0
		}
		out = m.copy(r, out, from, at, index)
		m.result.Exports[string(name)] = true
	}
	m.sections[sectionExport] = out
	return r.err
}

func (m *rewriter) start() error {
	body, there := m.sections[sectionStart]
	if !there {
		return nil
	}
	r := &reader{bytes: body}
	m.sections[sectionStart] = appendU32(nil, m.moved(r.u32()))
	return r.err
}

// elements renumbers the functions of tables. The flags say what stands where: 1 passive or declared, 2 a table (or, with 1, declared), 4 expressions.
func (m *rewriter) elements() error {
	body, there := m.sections[sectionElement]
	if !there {
		return nil
	}
	r := m.reader(body)
	n := r.u32()
	out := appendU32(make([]byte, 0, len(body)+len(body)/8), n)
	for range n {
		if out = m.element(r, out); r.err != nil {
			return r.err
		}
	}
	m.sections[sectionElement] = out
	return nil
}

func (m *rewriter) element(r *reader, out []byte) []byte {
	from := r.at
	flags := r.u32()
	if flags > 7 {
		r.fail("segment of kind %d", flags)
	}
	active, expressions := flags&1 == 0, flags&4 != 0
	if active && flags&2 != 0 {
		r.u32()
	}
	out = m.copy(r, out, from, 0, 0)
	if active {
		out = m.constant(r, out)
	}
	from = r.at
	if flags&3 != 0 { // a kind or a type
		if kind := r.byte(); !expressions && kind != 0 || expressions && kind != 0x70 && kind != 0x6f {
			r.fail("elements of type 0x%02x", kind)
		}
	}
	n := r.u32()
	out = m.copy(r, out, from, 0, 0)
	for ; n > 0 && r.err == nil; n-- {
		if expressions {
			out = m.constant(r, out)
		} else {
			out = appendU32(out, m.moved(r.u32()))
		}
	}
	return out
}

// code rewrites the bodies and adds that of the function which calls Tick.
func (m *rewriter) code() error {
	r := &reader{bytes: m.sections[sectionCode]}
	if len(r.bytes) > 0 {
		r.u32()
	}
	out := appendU32(make([]byte, 0, len(r.bytes)+len(r.bytes)/4), m.functions+1)
	for range m.functions {
		body, err := m.body(r.name())
		if err = orElse(r.err, err); err != nil {
			return err
		}
		out = appendBytes(out, body)
	}
	refill := appendU32([]byte{0, opCall}, m.importedFunctions)
	refill = appendS32(append(refill, opI32Const), Every)
	refill = append(appendU32(append(refill, opGlobalSet), m.globals), opEnd)
	m.sections[sectionCode] = appendBytes(out, refill)
	return nil
}

func orElse(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// body rewrites one function: a count at the head of each loop, and one at its start if it calls others.
func (m *rewriter) body(body []byte) ([]byte, error) {
	r := m.reader(body)
	for n := r.u32(); n > 0 && r.err == nil; n-- {
		r.u32()
		r.valueType()
	}
	count := m.countdown()
	out := m.copy(r, make([]byte, 0, len(body)+len(body)/4), 0, 0, 0)
	head, calls := len(out), false
	for r.more() {
		from := r.at
		op := r.byte()
		ref, function := r.instruction(op)
		out = m.copy(r, out, from, ref, function)
		switch op {
		case opLoop:
			out = append(out, count...)
		case opCall, opCallIndirect:
			calls = true
		}
	}
	if calls {
		out = append(out[:head:head], append(count[:len(count):len(count)], out[head:]...)...)
	}
	return out, r.err
}

// countdown are the instructions that count one down, and refill the counter when it is 0.
func (m *rewriter) countdown() []byte {
	b := append(appendU32([]byte{opGlobalGet}, m.globals), opI32Eqz, opIf, noResult)
	b = append(appendU32(append(b, opCall), m.refill), opEnd)
	b = append(appendU32(append(b, opGlobalGet), m.globals), opI32Const, 1, opI32Sub)
	return appendU32(append(b, opGlobalSet), m.globals)
}

// renumberNames keeps of the names those of functions. They are for messages only, so names that make no sense are dropped.
func (m *rewriter) renumberNames() {
	r := &reader{bytes: m.names}
	m.names = nil
	r.name()
	for r.more() {
		id, body := r.byte(), r.name()
		if id != 1 || r.err != nil {
			continue
		}
		names := &reader{bytes: body}
		n := names.u32()
		out := appendU32(nil, n)
		for range n {
			out = appendU32(out, m.moved(names.u32()))
			out = appendBytes(out, names.name())
			if names.err != nil {
				return
			}
		}
		m.names = appendBytes(append(appendBytes(nil, []byte("name")), 1), out)
	}
}
