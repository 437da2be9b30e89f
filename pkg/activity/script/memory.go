package script

import "sync"

// page is the unit in which the memory of a module grows.
const page = 64 << 10

// memory is that of one run. It never gets larger than its limit: a module that wants more is told that there is none.
type memory struct {
	limit   uint64
	bytes   []byte // all that was reserved
	refused bool   // the module wanted more than the limit
	free    sync.Once
}

// Reallocate implements experimental.LinearMemory.
func (m *memory) Reallocate(size uint64) []byte {
	if size > m.limit {
		m.refused = true
		return nil
	}
	if m.bytes = m.grown(m.bytes, size); m.bytes == nil {
		m.refused = true
		return nil
	}
	return m.bytes[:size:size]
}

// Free implements experimental.LinearMemory.
func (m *memory) Free() {
	m.free.Do(func() {
		release(m.bytes)
		m.bytes = nil
	})
}
