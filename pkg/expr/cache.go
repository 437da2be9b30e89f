package expr

import "sync"

// Bounds of one generation of a cache.
const (
	cacheEntries = 4096
	cacheBytes   = 1 << 20 // of source text
)

// cache keeps what was made of source texts. It has two generations: what is not used while a generation
// fills up is forgotten. It never changes a result, only how long it takes.
type cache[T any] struct {
	make func(src string) T

	mu       sync.Mutex
	young    map[string]T
	old      map[string]T
	youngLen int // bytes of source
}

// get returns what make makes of src.
func (c *cache[T]) get(src string) T {
	c.mu.Lock()
	v, ok := c.young[src]
	if !ok {
		if v, ok = c.old[src]; ok {
			c.put(src, v)
		}
	}
	c.mu.Unlock()
	if ok {
		return v
	}
	v = c.make(src)
	c.mu.Lock()
	c.put(src, v)
	c.mu.Unlock()
	return v
}

func (c *cache[T]) put(src string, v T) {
	if c.young == nil || len(c.young) >= cacheEntries || c.youngLen >= cacheBytes {
		c.old, c.young, c.youngLen = c.young, map[string]T{}, 0
	}
	c.young[src] = v
	c.youngLen += len(src)
}

var (
	programs  = &cache[*program]{make: newProgram}
	templates = &cache[*templateProgram]{make: newTemplateProgram}
	patterns  = &cache[*patternProgram]{make: newPatternProgram}
)
