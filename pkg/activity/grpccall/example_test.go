package grpccall_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/egress"
	"github.com/wovyr/wovyr/pkg/activity/grpccall"
)

func ExampleCaller() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	server := grpc.NewServer()
	healthpb.RegisterHealthServer(server, health.NewServer())
	reflection.Register(server)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()

	guard, err := egress.New("127.0.0.1")
	if err != nil {
		panic(err)
	}
	caller := grpccall.New(grpccall.Options{Guard: guard})
	defer caller.Close()
	target := fmt.Sprintf(`{"target":%q,"method":"grpc.health.v1.Health/Check","plaintext":true}`, listener.Addr())
	res, err := caller.Run(context.Background(), &activity.Task{Target: activity.NewDocument(json.RawMessage(target))})
	fmt.Println(string(res.Output), err)
	// Output: {"status":"SERVING"} <nil>
}
