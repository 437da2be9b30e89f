package memory_test

import (
	"testing"

	"github.com/wovyr/wovyr/pkg/eventstore/memory"
	"github.com/wovyr/wovyr/pkg/eventstore/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Subject {
		s := memory.New()
		return storetest.Subject{
			Store: s, Tamper: s.Rewrite,
			Reads: func() (int64, int64) { r := s.Reads(); return r.Commits, r.Bytes },
		}
	})
}

func TestPayloads(t *testing.T) {
	storetest.RunPayloads(t, func(*testing.T) storetest.PayloadSubject {
		const limit = 3_000_000
		p := memory.NewPayloads(limit)
		return storetest.PayloadSubject{Store: p, Limit: limit, Stored: p.Stored, Rewrite: p.Rewrite}
	})
}
