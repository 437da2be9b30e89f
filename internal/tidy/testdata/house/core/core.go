package core

import (
	"cmp"
	"context" // want pure-imports "may not import context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2" // want pure-imports "math/rand"
	"reflect"
	"slices"
	"strings"
	"sync" // want pure-imports "may not import sync"
	"time"
)

var (
	cache sync.Map
	zone  = time.Local // want pure-calls "time.Local"
	clock = time.Now   // want pure-calls "time.Now"
)

// Small is small enough.
type Small interface {
	A()
	B()
	C()
}

// Wide is listed, with a reason.
type Wide interface {
	A()
	B()
	C()
	D()
}

// Wider is not.
type Wider interface { // want wide-interface "core.Wider has 5 methods"
	Wide
	E()
}

func impure(ctx context.Context, at time.Time) {
	_ = rand.Int()
	_ = at.Local() // want pure-calls "\(time.Time\).Local"
	_ = at.UTC()
	_ = time.UnixMilli(1) // want pure-calls "time.UnixMilli"
	_ = time.UnixMilli(1).UTC()
	_ = time.Unix(1, 0).In(time.UTC)
	parsed, _ := time.Parse("", "") // want pure-calls "time.Parse:"
	_, _ = time.Parse("", "")
	_ = time.Now().UTC() // want pure-calls "time.Now"
	_ = parsed
	_, _ = time.ParseInLocation("", "", time.UTC)
	_ = math.Pow(2, 3) // want pure-calls "math.Pow"
	_ = math.Floor(2)
	time.Sleep(1)                   // want pure-calls "time.Sleep"
	_, _ = time.LoadLocation("UTC") // want pure-calls "time.LoadLocation"
	fmt.Println(cache, zone, clock) // want pure-calls "fmt.Println"
	println()                       // want pure-calls "println"
	_ = fmt.Sprintln()
	go impure(ctx, at) // want pure-goroutines "start a goroutine"
	select {           // want pure-goroutines "select"
	default:
	}
}

type named map[string]int

func iterate[M ~map[K]V, K cmp.Ordered, V any, N map[K]V](m map[string]int, n named, g M, h N, list []int) {
	for range m { // want map-order "range over a map"
	}
	for k := range n { // want map-order "range over a map"
		_ = k
	}
	for range g { // want map-order "range over a map"
	}
	for range h { // want map-order "range over a map"
	}
	for range list {
	}
	for range m { // order-free: counts only
	}
	// order-free: counts only
	for range m {
	}
	// want+1 map-order "range over a map"
	for range m { // order-free:
	}
	_ = slices.Sorted(maps.Keys(m))
	_ = slices.SortedFunc(maps.Values(m), cmp.Compare)
	_ = slices.Collect(maps.Keys(m)) // want map-order "maps.Keys"
	for range maps.All(m) {          // want map-order "maps.All"
	}
	_ = reflect.ValueOf(m).MapKeys()                 // want map-order "MapKeys"
	_ = reflect.ValueOf(m).MapRange()                // want map-order "MapRange"
	cache.Range(func(any, any) bool { return true }) // want map-order "sync.Map"
	_ = strings.Map(nil, "")
}

func fused(x, y, z float64, i, j int) float64 {
	i += i*j + 1
	z += x * y      // want float-fusion "float64(x*y) + z"
	z = x*y - z     // want float-fusion
	z = z - (x * y) // want float-fusion
	z += float64(x * y)
	z = float64(x*y) + z
	return 2*3 + z + float64(i)
}
