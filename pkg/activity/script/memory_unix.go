//go:build unix

package script

import "syscall"

// grown returns memory of at least size bytes that begins with what was there. All that the limit allows is reserved at once; the system gives
// pages only when they are touched, takes them back at once when the run is over, and the memory never moves.
func (m *memory) grown(old []byte, _ uint64) []byte {
	if old != nil {
		return old
	}
	b, err := syscall.Mmap(-1, 0, int(m.limit), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	return b
}

func release(b []byte) {
	if b != nil {
		_ = syscall.Munmap(b) // it is mapped
	}
}
