package grpccall

import (
	"context"
	"crypto/sha256"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/egress"
)

// Bounds of connections.
const (
	maxConnections = 256 // that are kept
	idleTimeout    = 90 * time.Second
	connectTimeout = 10 * time.Second
	pingAfter      = MaxSilence + 10*time.Second // without a sign of life; servers by default end connections that are pinged every 5 minutes or more often
	maxBackoff     = 2 * time.Second             // between attempts to connect: when to try again is the workflow's policy
)

// connections are those that calls share, by target and TLS.
type connections struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error) // the guard's, but in tests
	mu   sync.Mutex
	kept *lru.Cache[[sha256.Size]byte, *connection]
}

// connection is one that may be closed once nobody uses it any more.
type connection struct {
	*grpc.ClientConn
	users int  // guarded by connections.mu
	gone  bool // no longer kept
	// refused is the last error of the guard, which gRPC passes on as a text only.
	refused atomic.Pointer[activity.Error]
	types   services
}

func newConnections(guard *egress.Guard) *connections {
	cs := &connections{dial: guard.DialContext}
	kept, err := lru.NewWithEvict(maxConnections, func(_ [sha256.Size]byte, c *connection) { cs.leave(c) })
	if err != nil {
		panic(err) // the size is constant
	}
	cs.kept = kept
	return cs
}

// use returns the connection for a block, and what gives it back.
func (cs *connections) use(b *block) (*connection, func(), error) {
	key := sha256.Sum256([]byte(b.connection()))
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c, there := cs.kept.Get(key)
	if !there {
		var err error
		if c, err = cs.open(b); err != nil {
			return nil, nil, err
		}
		cs.kept.Add(key, c)
	}
	c.users++
	return c, func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		c.users--
		cs.closeUnused(c)
	}, nil
}

// leave is called with the lock held, when a connection is kept no longer.
func (cs *connections) leave(c *connection) {
	c.gone = true
	cs.closeUnused(c)
}

func (cs *connections) closeUnused(c *connection) {
	if c.gone && c.users == 0 {
		_ = c.Close() // it may be closed already
	}
}

// open makes a connection, which connects with its first call. The guard resolves names itself, so gRPC must not.
func (cs *connections) open(b *block) (*connection, error) {
	c := &connection{}
	security := insecure.NewCredentials()
	if !b.Plaintext {
		config, err := b.TLS.Config()
		if err != nil {
			return nil, err
		}
		security = credentials.NewTLS(config)
	}
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := cs.dial(ctx, "tcp", address)
		if refused := (*activity.Error)(nil); errors.As(err, &refused) {
			c.refused.Store(refused)
		} else {
			c.refused.Store(nil)
		}
		return conn, err
	}
	pace := backoff.DefaultConfig
	pace.BaseDelay, pace.MaxDelay = 200*time.Millisecond, maxBackoff
	var err error
	c.ClientConn, err = grpc.NewClient("passthrough:///"+b.Target, grpc.WithTransportCredentials(security), grpc.WithContextDialer(dial),
		grpc.WithNoProxy(), grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(), grpc.WithIdleTimeout(idleTimeout), grpc.WithUserAgent("wovyr"),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingAfter}),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: pace, MinConnectTimeout: connectTimeout}))
	if err != nil {
		return nil, wrong("target: %v", err)
	}
	return c, nil
}

// close closes all that are not in use, and the others once they are not.
func (cs *connections) close() {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.kept.Purge()
}
