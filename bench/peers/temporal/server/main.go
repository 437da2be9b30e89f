// Command server is the Temporal server as one process, with all four of its services, on 127.0.0.1. It stands in a module of its own:
// server and SDK need versions of the API that do not go together.
package main

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql"
	"go.temporal.io/server/temporal"
)

var (
	port     = flag.Int("port", 7233, "the frontend's; the three after it and those 100 higher are used too")
	database = flag.String("database", "", "postgres://user@host:port, with databases temporal and temporal_visibility that hold its schema")
	shards   = flag.Int("shards", 4, "shards of the history")
	// The default of 20 polls a second for each shard lets every step wait up to 50 ms.
	polls = flag.Int("polls", 1000, "history.transferProcessorMaxPollRPS")
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "temporal:", err)
		os.Exit(1)
	}
}

func run() error {
	c, err := configuration()
	if err != nil {
		return err
	}
	authorizer, err := authorization.GetAuthorizerFromConfig(&c.Global.Authorization)
	if err != nil {
		return err
	}
	s, err := temporal.NewServer(
		temporal.WithConfig(c), temporal.ForServices(temporal.DefaultServices), temporal.WithAuthorizer(authorizer),
		temporal.WithLogger(log.NewZapLogger(log.BuildZapLogger(log.Config{Level: "error"}))),
		temporal.WithDynamicConfigClient(dynamicconfig.StaticClient{
			dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): []dynamicconfig.ConstrainedValue{{Value: true}},
			dynamicconfig.TransferProcessorMaxPollRPS.Key():             []dynamicconfig.ConstrainedValue{{Value: *polls}},
		}))
	if err != nil {
		return err
	}
	if err := s.Start(); err != nil {
		return err
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	<-stop
	return s.Stop()
}

func configuration() (*config.Config, error) {
	u, err := url.Parse(*database)
	if err != nil {
		return nil, err
	}
	store := func(name string) config.DataStore {
		return config.DataStore{SQL: &config.SQL{
			PluginName: postgresql.PluginName, DatabaseName: name, ConnectAddr: u.Host, ConnectProtocol: "tcp", User: u.User.Username(), Password: "none",
			MaxConns: 20, MaxIdleConns: 20, MaxConnLifetime: time.Hour, ConnectAttributes: map[string]string{},
		}}
	}
	service := func(i int) config.Service {
		return config.Service{RPC: config.RPC{GRPCPort: *port + i, MembershipPort: *port + 100 + i, BindOnIP: "127.0.0.1"}}
	}
	frontend := fmt.Sprintf("127.0.0.1:%d", *port)
	return &config.Config{
		Global: config.Global{Membership: config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: "127.0.0.1"}},
		Persistence: config.Persistence{
			DefaultStore: "history", VisibilityStore: "visibility", NumHistoryShards: int32(*shards),
			DataStores: map[string]config.DataStore{"history": store("temporal"), "visibility": store("temporal_visibility")},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10, MasterClusterName: "active", CurrentClusterName: "active",
			ClusterInformation: map[string]cluster.ClusterInformation{"active": {Enabled: true, InitialFailoverVersion: 1, RPCAddress: frontend}},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services:            map[string]config.Service{"frontend": service(0), "history": service(1), "matching": service(2), "worker": service(3)},
		Archival: config.Archival{
			History: config.HistoryArchival{State: "disabled"}, Visibility: config.VisibilityArchival{State: "disabled"},
		},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History: config.HistoryArchivalNamespaceDefaults{State: "disabled"}, Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"},
		}},
		PublicClient: config.PublicClient{HostPort: frontend},
	}, nil
}
