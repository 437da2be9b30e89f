package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/egress"
	"github.com/wovyr/wovyr/pkg/activity/grpccall"
	"github.com/wovyr/wovyr/pkg/activity/httpcall"
	"github.com/wovyr/wovyr/pkg/activity/script"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// order is what is sent to and fro.
type order struct {
	ID    string  `json:"id"`
	Items []item  `json:"items"`
	Total float64 `json:"total"`
}

type item struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

var input = order{ID: "o-17", Items: []item{{"pen", 12}, {"ink", 2}, {"paper", 500}}, Total: 61.5}

const js = `return { id: input.id, total: input.items.reduce(function (sum, i) { return sum + i.quantity }, 0) }`

// peers are a web server, a gRPC server and this program itself, called bare and by kinds.
type peers struct {
	web     *http.Server
	rpc     *grpc.Server
	conn    *grpc.ClientConn
	at, to  string
	kinds   *activity.Registry
	rpcKind *grpccall.Caller
	arrived chan struct{}
	bare    *http.Client
}

func newPeers() (*peers, error) {
	p := &peers{arrived: make(chan struct{}), rpc: grpc.NewServer(), kinds: activity.NewRegistry(), bare: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(w, r.Body)
	})
	mux.HandleFunc("/wait", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		p.arrived <- struct{}{}
		<-r.Context().Done()
	})
	p.web = &http.Server{Handler: mux}
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	rpc, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	healthpb.RegisterHealthServer(p.rpc, health.NewServer())
	reflection.Register(p.rpc)
	go func() { _ = p.web.Serve(web) }() // until close
	go func() { _ = p.rpc.Serve(rpc) }()
	p.at, p.to = "http://"+web.Addr().String(), rpc.Addr().String()
	if p.conn, err = grpc.NewClient(p.to, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		return nil, err
	}
	return p, p.register()
}

func (p *peers) register() error {
	guard, err := egress.New("127.0.0.1")
	if err != nil {
		return err
	}
	p.rpcKind = grpccall.New(grpccall.Options{Guard: guard})
	p.kinds.MustAdd(httpcall.New(httpcall.Options{Guard: guard}).Kind())
	p.kinds.MustAdd(p.rpcKind.Kind())
	p.kinds.MustAdd(script.New(script.Options{}))
	fs := p.kinds.Functions
	fs.AddForm("command", &activity.Command{})
	fs.AddForm("url", &activity.Remote{Client: &http.Client{Transport: guard.Transport()}})
	return fs.Add(
		activity.Func("work", func(_ context.Context, in order) (order, error) { return in, nil }),
		activity.Func("wait", func(ctx context.Context, _ order) (order, error) {
			p.arrived <- struct{}{}
			<-ctx.Done()
			return order{}, ctx.Err()
		}),
	)
}

func (p *peers) close() {
	p.rpcKind.Close()
	_ = p.conn.Close()
	p.rpc.Stop()
	_ = p.web.Close()
}

func (p *peers) kind(name workflow.Kind) activity.Kind {
	k, err := p.kinds.Find(name)
	if err != nil {
		panic(err) // registered above
	}
	return k
}

// echo is the program that is run as a command.
func echo() {
	var in order
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(in)
}

func (p *peers) pairs() []pair {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	function := p.kind(workflow.KindFunction)
	return []pair{
		{name: "function: Go", n: 20_000, bare: bareGo, kind: function, task: activity.Task{Target: doc("work"), With: doc(input)}},
		{name: "function: command", n: 200, bare: func() error { return bareCommand(self) }, kind: function,
			task: activity.Task{Target: doc(map[string]any{"command": []string{self, "echo"}}), With: doc(input)}},
		{name: "function: url", n: 5_000, bare: p.post, kind: function, task: activity.Task{Target: doc(map[string]any{"url": p.at + "/echo"}), With: doc(input)}},
		{name: "http", n: 5_000, bare: p.post, kind: p.kind(workflow.KindHTTP),
			task: activity.Task{Target: doc(map[string]any{"method": "POST", "url": p.at + "/echo", "body": input})}},
		{name: "grpc, by reflection", n: 5_000, bare: p.check, kind: p.kind(workflow.KindGRPC),
			task: activity.Task{Target: doc(map[string]any{"target": p.to, "method": "grpc.health.v1.Health/Check", "message": map[string]any{}, "plaintext": true})}},
		{name: "script: JavaScript, warm (bare: the same in Go)", n: 300, bare: bareSum, kind: p.kind(workflow.KindScript),
			task: activity.Task{Target: doc(map[string]any{"js": js}), With: doc(input)}},
	}
}

func (p *peers) waits() []pair {
	return []pair{
		{name: "function: Go", n: 1000, kind: p.kind(workflow.KindFunction), task: activity.Task{Target: doc("wait"), With: doc(input)}},
		{name: "function: url (and its server)", n: 500, kind: p.kind(workflow.KindFunction), task: activity.Task{Target: doc(map[string]any{"url": p.at + "/wait"}), With: doc(input)}},
		{name: "http (and its server)", n: 500, kind: p.kind(workflow.KindHTTP),
			task: activity.Task{Target: doc(map[string]any{"method": "POST", "url": p.at + "/wait", "body": input})}},
	}
}

// bareGo decodes, calls and encodes.
func bareGo() error {
	b, err := json.Marshal(input)
	if err != nil {
		return err
	}
	var in order
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	_, err = json.Marshal(in)
	return err
}

func bareSum() error {
	sum := 0
	for _, i := range input.Items {
		sum += i.Quantity
	}
	_, err := json.Marshal(map[string]any{"id": input.ID, "total": sum})
	return err
}

func bareCommand(self string) error {
	b, err := json.Marshal(input)
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "echo")
	cmd.Stdin = bytes.NewReader(b)
	_, err = cmd.Output()
	return err
}

func (p *peers) post() error {
	b, err := json.Marshal(input)
	if err != nil {
		return err
	}
	res, err := p.bare.Post(p.at+"/echo", "application/json", bytes.NewReader(b))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var out order
	return json.NewDecoder(res.Body).Decode(&out)
}

func (p *peers) check() error {
	_, err := healthpb.NewHealthClient(p.conn).Check(context.Background(), &healthpb.HealthCheckRequest{})
	return err
}

// cold measures the first script of a process, and the first of one that finds compiled code in its cache.
func (p *peers) cold() error {
	cache, err := os.MkdirTemp("", "bench-activities")
	if err != nil {
		return err
	}
	defer os.RemoveAll(cache)
	task := activity.Task{Target: doc(map[string]any{"js": js}), With: doc(input)}
	for _, each := range []struct {
		name string
		o    script.Options
	}{{"cold script, nothing compiled", script.Options{}}, {"cold script, fills a cache", script.Options{Cache: cache}}, {"cold script, code in the cache", script.Options{Cache: cache}}} {
		began := time.Now()
		if err := call(context.Background(), script.New(each.o), task); err != nil {
			return err
		}
		fmt.Printf("%s: %v\n", each.name, short(time.Since(began)))
	}
	return nil
}
