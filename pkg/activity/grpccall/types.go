package grpccall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/jhump/protoreflect/v2/grpcreflect"
	"github.com/jhump/protoreflect/v2/protoresolve"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/wovyr/wovyr/pkg/activity"
)

// Codes of errors that are no status of the server.
const (
	CodeUnknownMethod = "grpc.unknown_method" // neither reflection nor the descriptor set has it
	CodeDescriptors   = "grpc.descriptors"    // the descriptor set cannot be used, or reflection says too much
	CodeTimeout       = "grpc.timeout"        // nothing came for MaxSilence in a call without a timeout
)

// Bounds of what is known of services.
const (
	typesLife      = 5 * time.Minute // then the server is asked again
	maxServices    = 256             // of one connection
	maxDescriptors = 32 << 20        // bytes of a descriptor set, or of what reflection says of a service
	maxFiles       = 2048            // that reflection says of a service
)

// schema is what is known of a service: its descriptor, and the types that its messages may hold.
type schema struct {
	service protoreflect.ServiceDescriptor
	types   resolver
	until   time.Time
}

// services keeps what reflection said.
type services struct {
	mu   sync.Mutex
	kept map[string]*schema
}

// find asks the server for a service, unless it is known.
func (s *services) find(ctx context.Context, conn grpc.ClientConnInterface, name string) (*schema, error) {
	s.mu.Lock()
	known := s.kept[name]
	s.mu.Unlock()
	if known != nil && time.Now().Before(known.until) {
		return known, nil
	}
	client, done := reflection(ctx, conn)
	defer done()
	file, err := client.FileContainingSymbol(protoreflect.FullName(name))
	if err != nil {
		return nil, err
	}
	found, err := newSchema(file, name)
	if err != nil {
		return nil, err
	}
	found.types.remote = conn
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil || len(s.kept) >= maxServices {
		s.kept = map[string]*schema{}
	}
	s.kept[name] = found
	return found, nil
}

// forget drops what is known of a service.
func (s *services) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.kept, name)
}

// reflection is a client of the server's reflection; done ends its stream.
func reflection(ctx context.Context, conn grpc.ClientConnInterface) (client *grpcreflect.Client, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	client = grpcreflect.NewClientAuto(ctx, &bounded{conn, maxFiles, maxDescriptors})
	return client, func() { client.Reset(); cancel() }
}

// newSchema makes the schema of a service in a file.
func newSchema(file protoreflect.FileDescriptor, name string) (*schema, error) {
	service, ok := protoresolve.FindDescriptorByNameInFile(file, protoreflect.FullName(name)).(protoreflect.ServiceDescriptor)
	if !ok {
		return nil, fmt.Errorf("%s is no service", name)
	}
	files := &protoregistry.Files{}
	if err := gather(files, file); err != nil {
		return nil, err
	}
	return &schema{service: service, types: resolver{local: dynamicpb.NewTypes(files)}, until: time.Now().Add(typesLife)}, nil
}

// gather registers a file and all that it imports.
func gather(files *protoregistry.Files, file protoreflect.FileDescriptor) error {
	if _, err := files.FindFileByPath(file.Path()); err == nil {
		return nil
	}
	imports := file.Imports()
	for i := range imports.Len() {
		if err := gather(files, imports.Get(i).FileDescriptor); err != nil {
			return err
		}
	}
	return files.RegisterFile(file)
}

// resolver finds the types of google.protobuf.Any and of extensions: among the files of the service, among those of protobuf itself,
// and by asking the server.
type resolver struct {
	local  *dynamicpb.Types
	remote grpc.ClientConnInterface
	ctx    context.Context // of the call
}

// FindMessageByName implements protoregistry.MessageTypeResolver.
func (r resolver) FindMessageByName(name protoreflect.FullName) (protoreflect.MessageType, error) {
	if t, err := r.local.FindMessageByName(name); err == nil {
		return t, nil
	}
	if t, err := protoregistry.GlobalTypes.FindMessageByName(name); err == nil {
		return t, nil
	}
	if r.remote == nil || r.ctx == nil {
		return nil, protoregistry.NotFound
	}
	client, done := reflection(r.ctx, r.remote)
	defer done()
	file, err := client.FileContainingSymbol(name)
	if err != nil {
		return nil, protoregistry.NotFound
	}
	if m, ok := protoresolve.FindDescriptorByNameInFile(file, name).(protoreflect.MessageDescriptor); ok {
		return dynamicpb.NewMessageType(m), nil
	}
	return nil, protoregistry.NotFound
}

// FindMessageByURL implements protoregistry.MessageTypeResolver.
func (r resolver) FindMessageByURL(url string) (protoreflect.MessageType, error) {
	return r.FindMessageByName(protoresolve.TypeNameFromURL(url))
}

// FindExtensionByName implements protoregistry.ExtensionTypeResolver.
func (r resolver) FindExtensionByName(name protoreflect.FullName) (protoreflect.ExtensionType, error) {
	return r.local.FindExtensionByName(name)
}

// FindExtensionByNumber implements protoregistry.ExtensionTypeResolver.
func (r resolver) FindExtensionByNumber(message protoreflect.FullName, field protoreflect.FieldNumber) (protoreflect.ExtensionType, error) {
	return r.local.FindExtensionByNumber(message, field)
}

// sets are the descriptor sets of the project's folder.
type sets struct {
	dir  string
	mu   sync.Mutex
	kept map[setFile]*protoregistry.Files
}

// setFile is a file as it was when it was read.
type setFile struct {
	name     string
	size     int64
	modified time.Time
}

// find returns the schema of a service in a descriptor set. No name leads out of the folder.
func (s *sets) find(name, service string) (*schema, error) {
	files, err := s.load(name)
	if err != nil {
		if path := (*fs.PathError)(nil); errors.As(err, &path) {
			err = path.Err
		}
		return nil, activity.NewError(CodeDescriptors, "descriptors: %s cannot be used: %v; it is a file of the project's folder, as protoc --descriptor_set_out --include_imports or buf build writes it", name, err)
	}
	found, err := files.FindDescriptorByName(protoreflect.FullName(service))
	if err != nil {
		return nil, unknownMethod("%s has no service %s", name, service)
	}
	sd, ok := found.(protoreflect.ServiceDescriptor)
	if !ok {
		return nil, unknownMethod("%s is no service in %s", service, name)
	}
	return &schema{service: sd, types: resolver{local: dynamicpb.NewTypes(files)}}, nil
}

func (s *sets) load(name string) (*protoregistry.Files, error) {
	if s.dir == "" {
		return nil, errors.New("this worker has no folder of descriptor sets")
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := setFile{name, info.Size(), info.ModTime()}
	if files := s.kept[key]; files != nil {
		return files, nil
	}
	text, err := io.ReadAll(io.LimitReader(file, maxDescriptors+1))
	if err != nil {
		return nil, err
	}
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(text, set); err != nil || len(text) > maxDescriptors {
		return nil, errors.New("it is no descriptor set, or too large")
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, err
	}
	if s.kept == nil || len(s.kept) >= maxServices {
		s.kept = map[setFile]*protoregistry.Files{}
	}
	s.kept[key] = files
	return files, nil
}

func unknownMethod(format string, args ...any) *activity.Error {
	return activity.NewError(CodeUnknownMethod, format, args...)
}

// schemaError makes the error of a service that reflection did not give.
func schemaError(b *block, err error) error {
	service, _ := b.names()
	typed := (*activity.Error)(nil)
	switch {
	case errors.As(err, &typed):
		return typed
	case grpcreflect.IsElementNotFoundError(err):
		return unknownMethod("%s has no service %s", b.Target, service)
	case status.Code(err) == codes.Unimplemented:
		return unknownMethod("%s does not answer by reflection: let it, or give descriptors: <a descriptor set of the project>", b.Target)
	}
	if _, ok := status.FromError(err); !ok {
		return activity.NewError(CodeDescriptors, "%s: what it says by reflection cannot be used: %v: give descriptors: <a descriptor set of the project>", b.where(), err)
	}
	return err
}
