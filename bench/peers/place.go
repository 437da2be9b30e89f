//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// place is where programs and stores are.
type place struct {
	folder string // programs and stores
	source string // the folder of this program's source
	pg     string // folder of PostgreSQL's programs
}

func newPlace(folder, pg string) (*place, error) {
	_, file, _, _ := runtime.Caller(0)
	p := &place{folder: folder, source: filepath.Dir(file), pg: pg}
	if _, err := os.Stat(filepath.Join(p.source, "harness", "go.mod")); err != nil {
		return nil, fmt.Errorf("run it in a checkout: %w", err)
	}
	if p.folder == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		p.folder = filepath.Join(cache, "wovyr-peers")
	}
	var err error
	if p.folder, err = filepath.Abs(p.folder); err != nil {
		return nil, err
	}
	if p.pg == "" {
		p.pg = findPostgres()
	}
	return p, os.MkdirAll(p.bin(""), 0o755)
}

// findPostgres looks where Debian keeps the newest version, and in PATH; empty if there is none.
func findPostgres() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is sound
	if len(found) > 0 {
		slices.Sort(found)
		return filepath.Dir(found[len(found)-1])
	}
	if initdb, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(initdb)
	}
	return ""
}

// bin is the file of a program.
func (p *place) bin(name string) string { return filepath.Join(p.folder, "bin", name) }

// fresh makes an empty folder.
func (p *place) fresh(name string) (string, error) {
	folder := filepath.Join(p.folder, "data", name)
	if err := os.RemoveAll(folder); err != nil {
		return "", err
	}
	return folder, os.MkdirAll(folder, 0o755)
}

// goBuild builds the module in a folder. What go finds to add to go.mod and go.sum stays out of the checkout: the module of this engine says
// little itself, since the root module knows.
func (p *place) goBuild(ctx context.Context, module, program string) error {
	source := filepath.Join(p.source, module)
	mod := p.bin(program + ".mod")
	for from, to := range map[string]string{"go.mod": mod, "go.sum": p.bin(program + ".sum")} {
		text, err := os.ReadFile(filepath.Join(source, from))
		if errors.Is(err, os.ErrNotExist) { // this engine's: the sums are those of the root module
			text, err = os.ReadFile(filepath.Join(p.source, "..", "..", from))
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			return err
		}
	}
	_, err := finish(ctx, source, "go", "build", "-mod=mod", "-modfile", mod, "-o", p.bin(program), ".")
	return err
}

// finish runs a command to its end and returns its standard output.
func finish(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	return output(cmd)
}

func output(cmd *exec.Cmd) (string, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSpace(string(out)), err
}

// server is a process that runs beside an engine's program.
type server struct {
	cmd  *exec.Cmd
	name string
	done chan error
	stop os.Signal
}

// patience is how long a server may take to start or to stop.
const patience = 2 * time.Minute

// start starts a server and waits until it listens on an address. Its output goes to a file.
func (p *place) start(ctx context.Context, name, address string, stop os.Signal, cmd *exec.Cmd) (*server, error) {
	if c, err := net.Dial("tcp", address); err == nil {
		return nil, errors.Join(fmt.Errorf("somebody listens on %s already", address), c.Close())
	}
	logFile, err := os.Create(filepath.Join(p.folder, name+".log"))
	if err != nil {
		return nil, err
	}
	defer logFile.Close() // the process has its own
	cmd.Stdout, cmd.Stderr = logFile, logFile
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd, name: name, done: make(chan error, 1), stop: stop}
	go func() { s.done <- cmd.Wait() }()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if c, err := net.Dial("tcp", address); err == nil {
			return s, c.Close()
		}
		select {
		case err := <-s.done:
			return nil, fmt.Errorf("%s ended (%v): see %s", name, err, logFile.Name())
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("%s does not listen on %s: see %s", name, address, logFile.Name()), s.end())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// end stops a server, if need be by force.
func (s *server) end() error {
	if err := s.cmd.Process.Signal(s.stop); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.done:
		return nil
	case <-time.After(patience):
		return errors.Join(fmt.Errorf("%s does not stop: it was killed", s.name), s.cmd.Process.Kill())
	}
}

const (
	pgAddress = "127.0.0.1:5544"
	pgURL     = "postgres://postgres@" + pgAddress
)

// startPostgres starts a PostgreSQL with the settings that it comes with (fsync and synchronous_commit are on) and a new, empty store.
func (p *place) startPostgres(ctx context.Context) (*server, error) {
	if p.pg == "" {
		return nil, errors.New("PostgreSQL is not installed: `apt-get install postgresql`, or say where it is with -postgres")
	}
	folder, err := p.fresh("postgres")
	if err != nil {
		return nil, err
	}
	if err := ownedByPostgres(folder); err != nil {
		return nil, err
	}
	initdb, err := asPostgres(exec.CommandContext(ctx, filepath.Join(p.pg, "initdb"), "-D", folder, "-A", "trust", "-U", "postgres"))
	if err != nil {
		return nil, err
	}
	if _, err := output(initdb); err != nil {
		return nil, err
	}
	host, port, _ := net.SplitHostPort(pgAddress)
	cmd, err := asPostgres(exec.Command(filepath.Join(p.pg, "postgres"), "-D", folder, "-p", port,
		"-c", "listen_addresses="+host, "-c", "unix_socket_directories="+folder, "-c", "max_connections=200"))
	if err != nil {
		return nil, err
	}
	s, err := p.start(ctx, "postgres", pgAddress, syscall.SIGINT, cmd)
	if err != nil {
		return nil, err
	}
	for range 100 { // it listens before it is ready
		if _, err = p.psql(ctx, "postgres", "-c", "SELECT 1"); err == nil {
			return s, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil, errors.Join(err, s.end())
}

// psql runs statements or files.
func (p *place) psql(ctx context.Context, database string, args ...string) (string, error) {
	return finish(ctx, p.folder, filepath.Join(p.pg, "psql"), append([]string{"-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", pgURL + "/" + database}, args...)...)
}

// asPostgres lets root run a command as the user postgres: PostgreSQL refuses to be run by root.
func asPostgres(cmd *exec.Cmd) (*exec.Cmd, error) {
	cmd.Dir = "/"
	if os.Getuid() != 0 {
		return cmd, nil
	}
	uid, gid, err := postgresUser()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return cmd, err
}

func ownedByPostgres(folder string) error {
	if os.Getuid() != 0 {
		return nil
	}
	uid, gid, err := postgresUser()
	if err != nil {
		return err
	}
	return os.Chown(folder, uid, gid)
}

func postgresUser() (uid, gid int, err error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		return 0, 0, err
	}
	uid, errUID := strconv.Atoi(u.Uid)
	gid, errGID := strconv.Atoi(u.Gid)
	return uid, gid, errors.Join(errUID, errGID)
}
