package grpccall

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/wovyr/wovyr/pkg/activity"
)

// bounded is a connection by which a server says by reflection what it has: it bounds how much, as a file may import others without end.
// It is of one question, whose streams come one after the other.
type bounded struct {
	grpc.ClientConnInterface
	messages, bytes int // what may still come
}

// NewStream implements grpc.ClientConnInterface.
func (b *bounded) NewStream(ctx context.Context, d *grpc.StreamDesc, method string, o ...grpc.CallOption) (grpc.ClientStream, error) {
	if err := b.spent(); err != nil {
		return nil, err
	}
	s, err := b.ClientConnInterface.NewStream(ctx, d, method, o...)
	if err != nil {
		return nil, err
	}
	return &boundedStream{s, b}, nil
}

func (b *bounded) spent() error {
	if b.messages >= 0 && b.bytes >= 0 {
		return nil
	}
	return activity.NewError(CodeDescriptors, "reflection: the server describes its services in more than %d files or %d MiB: give descriptors: <a descriptor set of the project>",
		maxFiles, maxDescriptors>>20)
}

type boundedStream struct {
	grpc.ClientStream
	left *bounded
}

// RecvMsg implements grpc.ClientStream.
func (s *boundedStream) RecvMsg(m any) error {
	if err := s.ClientStream.RecvMsg(m); err != nil {
		return err
	}
	s.left.messages--
	if p, ok := m.(proto.Message); ok {
		s.left.bytes -= proto.Size(p)
	}
	return s.left.spent()
}
