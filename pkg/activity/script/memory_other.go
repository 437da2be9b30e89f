//go:build !unix

package script

// grown returns memory of at least size bytes that begins with what was there.
func (m *memory) grown(old []byte, size uint64) []byte {
	if uint64(len(old)) >= size {
		return old
	}
	b := make([]byte, min(m.limit, max(size, 2*uint64(len(old)))))
	copy(b, old)
	return b
}

func release([]byte) {}
