//go:build unix

package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// engine is one of those that are compared.
type engine struct {
	name string // also the folder of its program
	// modules are those whose versions are named.
	modules []string
	// durability says when what is done is on the disk, and place what of the engine is in the program's process.
	durability, place string
	// args are for sizes that would take too long.
	args []string
	// extra builds what its servers need; nil: it has none.
	extra func(ctx context.Context, p *place) error
	// serve starts its servers with empty stores and returns them, those that ended first last, with the flags for its program.
	serve func(ctx context.Context, p *place) ([]*server, []string, error)
	// about names the versions of its servers.
	about func(ctx context.Context, p *place) (string, error)
}

// restateServer is the version of Restate's server, and the package that has its program.
const (
	restateServer  = "1.7.12"
	restatePackage = "@restatedev/restate-server"
)

var engines = []*engine{
	{
		name: "wovyr", modules: []string{"modernc.org/sqlite"},
		durability: "SQLite, WAL, synchronous FULL", place: "all in one process",
		serve: func(_ context.Context, p *place) ([]*server, []string, error) {
			folder, err := p.fresh("wovyr")
			return nil, []string{"-data", folder}, err
		},
		about: func(ctx context.Context, p *place) (string, error) {
			commit, err := finish(ctx, p.source, "git", "describe", "--always", "--dirty")
			return "commit " + commit, err
		},
	},
	{
		name: "dbos", modules: []string{"github.com/dbos-inc/dbos-transact-golang"},
		durability: "PostgreSQL, fsync and synchronous_commit on", place: "the engine in one process, PostgreSQL beside it",
		serve: func(ctx context.Context, p *place) ([]*server, []string, error) {
			s, err := p.startPostgres(ctx)
			if err != nil {
				return nil, nil, err
			}
			_, err = p.psql(ctx, "postgres", "-c", "CREATE DATABASE dbos")
			return []*server{s}, []string{"-database", pgURL + "/dbos"}, err
		},
		about: aboutPostgres,
	},
	{
		name: "restate", modules: []string{"github.com/restatedev/sdk-go"},
		durability: "RocksDB, its log synced (default)", place: "the steps in one process, the server beside it",
		extra: func(ctx context.Context, p *place) error {
			// Its package has programs for the platforms as packages of their own; scripts are not needed.
			_, err := finish(ctx, p.folder, "npm", "install", "--prefix", filepath.Join(p.folder, "npm"), "--ignore-scripts", "--no-audit", "--no-fund",
				restatePackage+"@"+restateServer)
			return err
		},
		serve: serveRestate,
		about: func(context.Context, *place) (string, error) { return "server " + restateServer, nil },
	},
	{
		name: "goworkflows", modules: []string{"github.com/cschleiden/go-workflows", "modernc.org/sqlite"},
		durability: "SQLite, WAL, synchronous FULL (default)", place: "all in one process",
		args: []string{"-total", "250", "-resume", "10,1000"},
		serve: func(_ context.Context, p *place) ([]*server, []string, error) {
			folder, err := p.fresh("goworkflows")
			return nil, []string{"-file", filepath.Join(folder, "store.db")}, err
		},
	},
	{
		name: "temporal", modules: []string{"go.temporal.io/sdk"},
		durability: "PostgreSQL, fsync and synchronous_commit on; 4 shards, 1,000 polls a second instead of 20", place: "the steps in one process, server and PostgreSQL beside it",
		args:  []string{"-total", "200", "-chains", "2", "-fans", "3", "-starts", "50", "-resume", "10,1000"},
		extra: func(ctx context.Context, p *place) error { return p.goBuild(ctx, "temporal/server", "temporal-server") },
		serve: serveTemporal,
		about: func(ctx context.Context, p *place) (string, error) {
			server, err := versions(p.bin("temporal-server"), "go.temporal.io/server")
			if err != nil {
				return "", err
			}
			pg, err := aboutPostgres(ctx, p)
			return server + ", " + pg, err
		},
	},
}

func aboutPostgres(ctx context.Context, p *place) (string, error) {
	return finish(ctx, p.folder, filepath.Join(p.pg, "postgres"), "--version")
}

func serveRestate(ctx context.Context, p *place) ([]*server, []string, error) {
	const ingress, admin, service = "127.0.0.1:18080", "127.0.0.1:19070", "127.0.0.1:19080"
	folder, err := p.fresh("restate")
	if err != nil {
		return nil, nil, err
	}
	found, _ := filepath.Glob(filepath.Join(p.folder, "npm/node_modules/@restatedev/restate-server-*/bin/restate-server")) // the pattern is sound
	if len(found) == 0 {
		return nil, nil, errors.New("its package has no program for this platform")
	}
	cmd := exec.Command(found[0], "--no-logo", "--base-dir", folder)
	cmd.Dir = folder
	cmd.Env = append(cmd.Environ(), "RESTATE_DISABLE_TELEMETRY=true", "RESTATE_BIND_IP=127.0.0.1", "RESTATE_LISTEN_MODE=tcp", "RESTATE_ADVERTISED_HOST=127.0.0.1",
		"RESTATE_BIND_ADDRESS=127.0.0.1:15122", "RESTATE_ADVERTISED_ADDRESS=http://127.0.0.1:15122",
		"RESTATE_INGRESS__BIND_ADDRESS="+ingress, "RESTATE_ADMIN__BIND_ADDRESS="+admin)
	s, err := p.start(ctx, "restate-server", ingress, syscall.SIGTERM, cmd)
	if err != nil {
		return nil, nil, err
	}
	return []*server{s}, []string{"-ingress", "http://" + ingress, "-admin", "http://" + admin, "-listen", service}, nil
}

func serveTemporal(ctx context.Context, p *place) ([]*server, []string, error) {
	const address = "127.0.0.1:7233"
	pg, err := p.startPostgres(ctx)
	if err != nil {
		return nil, nil, err
	}
	running := []*server{pg}
	if err := p.temporalSchema(ctx); err != nil {
		return running, nil, err
	}
	s, err := p.start(ctx, "temporal-server", address, syscall.SIGTERM, exec.Command(p.bin("temporal-server"), "-database", pgURL))
	if err != nil {
		return running, nil, err
	}
	return append(running, s), []string{"-address", address}, nil
}

// temporalSchema does with psql what Temporal's own tool does: its schema, and the version that the server asks for.
func (p *place) temporalSchema(ctx context.Context) error {
	source, err := finish(ctx, filepath.Join(p.source, "temporal", "server"), "go", "list", "-m", "-f", "{{.Dir}}", "go.temporal.io/server")
	if err != nil {
		return err
	}
	for database, part := range map[string]string{"temporal": "temporal", "temporal_visibility": "visibility"} {
		folder := filepath.Join(source, "schema", "postgresql", "v12", part)
		version, err := newestVersion(filepath.Join(folder, "versioned"))
		if err != nil {
			return err
		}
		if _, err := p.psql(ctx, "postgres", "-c", "CREATE DATABASE "+database); err != nil {
			return err
		}
		if _, err := p.psql(ctx, database, "-f", filepath.Join(folder, "schema.sql"), "-c", fmt.Sprintf(`
CREATE TABLE schema_version(version_partition INT NOT NULL, db_name VARCHAR(255) NOT NULL, creation_time TIMESTAMP,
  curr_version VARCHAR(64), min_compatible_version VARCHAR(64), PRIMARY KEY(version_partition, db_name));
CREATE TABLE schema_update_history(version_partition INT NOT NULL, year INT NOT NULL, month INT NOT NULL, update_time TIMESTAMP, description VARCHAR(255),
  manifest_md5 VARCHAR(64), new_version VARCHAR(64), old_version VARCHAR(64), PRIMARY KEY(version_partition, year, month, update_time));
INSERT INTO schema_version VALUES (0, '%s', now(), '%s', '%s');`, database, version, version)); err != nil {
			return err
		}
	}
	return nil
}

// newestVersion is the newest of folders that are named v1.2 and so on, without the v.
func newestVersion(folder string) (string, error) {
	found, err := filepath.Glob(filepath.Join(folder, "v*"))
	newest, name := []int(nil), ""
	for _, f := range found {
		text := strings.TrimPrefix(filepath.Base(f), "v")
		var numbers []int
		for part := range strings.SplitSeq(text, ".") {
			n, _ := strconv.Atoi(part)
			numbers = append(numbers, n)
		}
		if name == "" || compareVersions(numbers, newest) > 0 {
			newest, name = numbers, text
		}
	}
	if err == nil && name == "" {
		err = fmt.Errorf("there are no versions in %s", folder)
	}
	return name, err
}

func compareVersions(a, b []int) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return a[i] - b[i]
		}
	}
	return len(a) - len(b)
}

// build builds the program of an engine and what its servers need.
func (e *engine) build(ctx context.Context, p *place) error {
	if err := p.goBuild(ctx, e.name, e.name); err != nil || e.extra == nil {
		return err
	}
	return e.extra(ctx, p)
}

// versions names modules as they are in a program.
func versions(program string, modules ...string) (string, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return "", err
	}
	var out []string
	for _, d := range info.Deps {
		for _, m := range modules {
			if d.Path == m {
				out = append(out, d.Path+" "+d.Version)
			}
		}
	}
	return strings.Join(out, ", "), nil
}

// result is one figure of one turn.
type result struct {
	Engine string `json:"engine"`
	Round  int    `json:"round"`
	// Load is the load average when the turn began.
	Load       string    `json:"load"`
	Version    string    `json:"version"`
	Durability string    `json:"durability"`
	Place      string    `json:"place"`
	Figure     string    `json:"figure"`
	Unit       string    `json:"unit"`
	Values     []float64 `json:"values"`
	Processor  float64   `json:"processor_ms_per_step,omitempty"`
}

// turnLimit ends a program that does not come to an end.
const turnLimit = 10 * time.Minute

// turn takes all figures of an engine once, with servers and stores of its own.
func (e *engine) turn(ctx context.Context, p *place, round int) (out []result, err error) {
	ctx, cancel := context.WithTimeout(ctx, turnLimit)
	defer cancel()
	kind := result{Engine: e.name, Round: round, Load: load(), Durability: e.durability, Place: e.place}
	if kind.Version, err = e.version(ctx, p); err != nil {
		return nil, err
	}
	running, args, err := e.serve(ctx, p)
	defer func() {
		for i := len(running) - 1; i >= 0; i-- {
			err = errors.Join(err, running[i].end())
		}
	}()
	if err != nil {
		return nil, err
	}
	args = append(append(args, strings.Fields(*sizes)...), e.args...)
	if *quick {
		args = append(args, "-starts", "5", "-chains", "1", "-fans", "1", "-total", "20", "-at-once", "5", "-resume", "10")
	}
	var pids []string
	for _, s := range running {
		pids = append(pids, strconv.Itoa(s.cmd.Process.Pid))
	}
	text, err := finish(ctx, p.folder, p.bin(e.name), append(args, "-servers", strings.Join(pids, ","))...)
	for d := json.NewDecoder(bytes.NewReader([]byte(text))); d.More(); {
		r := kind
		if err := d.Decode(&r); err != nil {
			return out, err
		}
		out = append(out, r)
	}
	return out, err
}

func (e *engine) version(ctx context.Context, p *place) (string, error) {
	text, err := versions(p.bin(e.name), e.modules...)
	if err != nil || e.about == nil {
		return text, err
	}
	about, err := e.about(ctx, p)
	return text + ", " + about, err
}
