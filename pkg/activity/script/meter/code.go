package meter

// Opcodes that matter here.
const (
	opBlock, opLoop, opIf, opEnd = 0x02, 0x03, 0x04, 0x0b
	opBr, opBrIf, opBrTable      = 0x0c, 0x0d, 0x0e
	opCall, opCallIndirect       = 0x10, 0x11
	opSelectTyped                = 0x1c
	opLocalGet, opTableSet       = 0x20, 0x26 // and what is between
	opGlobalGet, opGlobalSet     = 0x23, 0x24
	opFirstMemory, opLastMemory  = 0x28, 0x3e // loads and stores
	opMemorySize, opMemoryGrow   = 0x3f, 0x40
	opI32Const, opI64Const       = 0x41, 0x42
	opF32Const, opF64Const       = 0x43, 0x44
	opI32Eqz, opI32Sub           = 0x45, 0x6b
	opLastNumeric                = 0xc4
	opRefNull, opRefIsNull       = 0xd0, 0xd1
	opRefFunc                    = 0xd2
	opMisc, opVector             = 0xfc, 0xfd
	noResult                     = 0x40
	opElse, opReturn             = 0x05, 0x0f
	opDrop, opSelect             = 0x1a, 0x1b
	opNop                        = 0x01
)

// instruction reads one instruction behind its opcode, up to its end. Where it names a function, ref is where that number starts and
// function its value; ref is 0 elsewhere.
func (r *reader) instruction(op byte) (ref int, function uint32) {
	switch {
	case op <= opNop, op == opElse, op == opEnd, op == opReturn, op == opDrop, op == opSelect, op == opRefIsNull:
	case op == opBlock, op == opLoop, op == opIf:
		r.skipLEB(5)
	case op == opGlobalGet, op == opGlobalSet:
		r.global()
	case op == opBr, op == opBrIf, op >= opLocalGet && op <= opTableSet:
		r.u32()
	case op == opBrTable:
		for n := uint64(r.u32()) + 1; n > 0 && r.err == nil; n-- {
			r.u32()
		}
	case op == opCall, op == opRefFunc:
		ref = r.at
		return ref, r.u32()
	case op == opCallIndirect:
		r.u32()
		r.u32()
	case op == opSelectTyped:
		for n := r.u32(); n > 0 && r.err == nil; n-- {
			r.valueType()
		}
	case op >= opFirstMemory && op <= opLastMemory:
		r.memoryArgument()
	case op == opMemorySize, op == opMemoryGrow:
		r.byte()
	case op == opI32Const:
		r.skipLEB(5)
	case op == opI64Const:
		r.skipLEB(10)
	case op == opF32Const:
		r.take(4)
	case op == opF64Const:
		r.take(8)
	case op >= opI32Eqz && op <= opLastNumeric:
	case op == opRefNull:
		r.valueType()
	case op == opMisc:
		r.misc()
	case op == opVector:
		r.vector()
	default:
		r.fail("instruction 0x%02x is none of WebAssembly 2.0 (threads, exceptions, tail calls and garbage collection are not supported)", op)
	}
	return 0, 0
}

// global reads the number of a global. It must be one of the module's own: the counter that is added is not for its code.
func (r *reader) global() {
	if g := r.u32(); g >= r.globals {
		r.fail("global %d does not exist", g)
	}
}

// valueType reads a type of one byte.
func (r *reader) valueType() {
	switch t := r.byte(); t {
	case 0x7f, 0x7e, 0x7d, 0x7c, 0x7b, 0x70, 0x6f:
	default:
		r.fail("type 0x%02x is none of WebAssembly 2.0", t)
	}
}

func (r *reader) memoryArgument() {
	r.u32()
	r.u32()
}

// misc reads the rest of an instruction with the prefix 0xfc.
func (r *reader) misc() {
	switch op := r.u32(); {
	case op <= 7: // truncations
	case op == 8: // memory.init
		r.u32()
		r.byte()
	case op == 9, op == 13: // data.drop, elem.drop
		r.u32()
	case op == 10: // memory.copy
		r.take(2)
	case op == 11: // memory.fill
		r.byte()
	case op == 12, op == 14: // table.init, table.copy
		r.u32()
		r.u32()
	case op == 15:
		r.fail("tables that grow (table.grow) are not supported")
	case op == 16, op == 17: // table.size, table.fill
		r.u32()
	default:
		r.fail("instruction 0xfc %d is none of WebAssembly 2.0", op)
	}
}

// vector reads the rest of an instruction with the prefix 0xfd. Its number is one byte, and where the format has two, the second is 0x01: the
// engine takes it for an instruction that does nothing, and so does this package.
func (r *reader) vector() {
	switch op := r.byte(); {
	case op <= 11, op == 92, op == 93: // loads and stores
		r.memoryArgument()
	case op == 12, op == 13: // v128.const, i8x16.shuffle
		r.take(16)
	case op >= 21 && op <= 34: // lanes
		r.byte()
	case op >= 84 && op <= 91: // loads and stores of lanes
		r.memoryArgument()
		r.byte()
	}
}
