package emulator

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// Env is the variable that names a running emulator.
const Env = "WOVYR_AWS_ENDPOINT"

// Config returns a configuration of the SDK for one test: an account of its own on the emulator, so that tests meet nothing of each other's.
func Config(t testing.TB) aws.Config {
	t.Helper()
	endpoint, err := Endpoint()
	if err != nil {
		t.Fatalf("no AWS to test on: %v", err)
	}
	client := whole{awshttp.NewBuildableClient().WithTransportOptions(func(tr *http.Transport) {
		tr.MaxIdleConns, tr.MaxIdleConnsPerHost = 128, 128 // tests have many hands
	})}
	if endpoint == "" {
		c, err := config.LoadDefaultConfig(context.Background(), config.WithHTTPClient(client))
		if err != nil {
			t.Fatalf("no AWS to test on: %v", err)
		}
		return c
	}
	account := fmt.Sprintf("%012d", 100_000_000_000+rand.Int64N(800_000_000_000))
	return aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(endpoint), HTTPClient: client,
		Credentials: credentials.NewStaticCredentialsProvider(account, "test", ""),
	}
}

// whole sends requests whose bodies are in memory. An emulator answers so fast that the SDK closes the body of a request while the transport still
// looks whether there is more of it, which then drops the connection, answer and all: a lost answer, which the SDK makes good by
// repeating the request, but not one that a test of lost answers asked for.
type whole struct{ client aws.HTTPClient }

// Do implements aws.HTTPClient.
func (w whole) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return w.client.Do(r)
}

// Endpoint returns the address of the emulator, which it starts if need be; empty for AWS itself.
func Endpoint() (string, error) {
	switch e := os.Getenv(Env); e {
	case "":
		return started()
	case "aws":
		return "", nil
	default:
		return e, nil
	}
}

var started = sync.OnceValues(start)

// start runs the script until this process ends: the script waits for the end of its standard input.
func start() (string, error) {
	root, err := repository()
	if err != nil {
		return "", err
	}
	port, err := freePort()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(filepath.Join(root, "localstack", "ministack.sh"), "run")
	cmd.Env = append(os.Environ(), fmt.Sprint("PORT=", port))
	var said strings.Builder
	cmd.Stderr = &said
	if _, err := cmd.StdinPipe(); err != nil { // it closes with this process
		return "", err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = cmd.Wait()
		}
		return "", fmt.Errorf("localstack/ministack.sh: %w\n%s", err, said.String())
	}
	go func() { _ = cmd.Wait() }() // which also keeps the pipe from being collected
	return strings.TrimSpace(line), nil
}

// repository returns the folder of the repository: the nearest one above that has the script.
func repository() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := folder; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "localstack", "ministack.sh")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("localstack/ministack.sh is in no folder above %s", folder)
		}
	}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
