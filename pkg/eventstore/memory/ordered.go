package memory

import "slices"

// ordered is a list without duplicates, kept in the order of cmp.
type ordered[T any] struct {
	items []T
	cmp   func(a, b T) int
}

// seek returns the place of the first item that is not before x, and whether it equals x.
func (o *ordered[T]) seek(x T) (int, bool) { return slices.BinarySearchFunc(o.items, x, o.cmp) }

// get returns the item that equals x.
func (o *ordered[T]) get(x T) (T, bool) {
	i, ok := o.seek(x)
	if !ok {
		var none T
		return none, false
	}
	return o.items[i], true
}

// put inserts x or replaces the item that equals it.
func (o *ordered[T]) put(x T) {
	i, ok := o.seek(x)
	if ok {
		o.items[i] = x
		return
	}
	o.items = slices.Insert(o.items, i, x)
}

// remove removes the item that equals x, if there is one.
func (o *ordered[T]) remove(x T) {
	if i, ok := o.seek(x); ok {
		o.items = slices.Delete(o.items, i, i+1)
	}
}

// after returns the items that come after x.
func (o *ordered[T]) after(x T) []T {
	i, ok := o.seek(x)
	if ok {
		i++
	}
	return o.items[i:]
}
