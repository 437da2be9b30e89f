package meter

import (
	"errors"
	"fmt"
)

// errShort is the error of a module that ends in the middle of something.
var errShort = errors.New("it ends too early")

// reader reads the parts of a module. The first error stays, and all later reads answer zero.
type reader struct {
	bytes []byte
	at    int
	err   error
	// globals is how many there are.
	globals uint32
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// more reports whether something is left.
func (r *reader) more() bool { return r.err == nil && r.at < len(r.bytes) }

func (r *reader) byte() byte {
	if r.err == nil && r.at >= len(r.bytes) {
		r.err = errShort
	}
	if r.err != nil {
		return 0
	}
	r.at++
	return r.bytes[r.at-1]
}

// take returns the next n bytes.
func (r *reader) take(n uint32) []byte {
	if r.err == nil && uint64(len(r.bytes)-r.at) < uint64(n) {
		r.err = errShort
	}
	if r.err != nil {
		return nil
	}
	r.at += int(n)
	return r.bytes[r.at-int(n) : r.at]
}

// u32 reads an unsigned LEB128 number.
func (r *reader) u32() uint32 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if v > 1<<32-1 {
				r.fail("a number is too large")
			}
			return uint32(v)
		}
	}
	r.fail("a number is too long")
	return 0
}

// skipLEB skips a LEB128 number of at most so many bytes.
func (r *reader) skipLEB(most int) {
	for range most {
		if r.byte() < 0x80 {
			return
		}
	}
	r.fail("a number is too long")
}

// name reads a text.
func (r *reader) name() []byte { return r.take(r.u32()) }

// appendU32 appends a number as unsigned LEB128.
func appendU32(b []byte, v uint32) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// appendS32 appends a number that is not negative as signed LEB128.
func appendS32(b []byte, v uint32) []byte {
	for v >= 0x40 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// appendBytes appends a length and the bytes.
func appendBytes(b, more []byte) []byte { return append(appendU32(b, uint32(len(more))), more...) }
