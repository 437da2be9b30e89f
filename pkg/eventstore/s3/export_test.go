package s3

import "time"

// Stale is the age at which the mark of a collector counts no more.
const Stale = stale

// At returns the store as of a time.
func (s *Store) At(now func() time.Time) *Store {
	other := *s
	other.now = now
	return &other
}
