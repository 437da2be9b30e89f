package grpccall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/egress"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Options are the choices of a worker that calls gRPC services.
type Options struct {
	// Guard decides which addresses are called; nil allows the public internet only.
	Guard *egress.Guard
	// Dir is the folder in which descriptor sets are; empty: there are none.
	Dir string
}

// Caller calls gRPC services. It is safe for concurrent use.
type Caller struct {
	connections *connections
	sets        *sets
}

// New returns a caller that has no connections yet.
func New(o Options) *Caller {
	return &Caller{connections: newConnections(o.Guard), sets: &sets{dir: o.Dir}}
}

// Kind is what a registry takes.
func (c *Caller) Kind() activity.Kind {
	return activity.Kind{Name: workflow.KindGRPC, Target: targetSchema, Activity: c}
}

// Close closes the connections that are kept for later calls; those in use are closed when their calls are over.
func (c *Caller) Close() { c.connections.close() }

// Run implements activity.Activity.
func (c *Caller) Run(ctx context.Context, t *activity.Task) (activity.Result, error) {
	b, err := parse(ctx, t)
	if err != nil {
		return activity.Result{}, err
	}
	md, err := b.metadata(t.IdempotencyKey)
	if err != nil {
		return activity.Result{}, err
	}
	conn, leave, err := c.connections.use(b)
	if err != nil {
		return activity.Result{}, err
	}
	defer leave()
	watched, quiet, stop := watchSilence(metadata.NewOutgoingContext(ctx, md))
	defer stop() // ends a stream that was not read to its end
	call := &call{block: b, conn: conn, task: t, limit: min(t.OutputLimit(), activity.MaxInline), quiet: quiet}
	output, err := call.run(watched, c.sets)
	if err != nil {
		return activity.Result{}, failure(ctx, watched, b, conn, call.limit, err)
	}
	return activity.Result{Output: output}, nil
}

// call is one call.
type call struct {
	*block
	conn  *connection
	task  *activity.Task
	limit int64
	quiet silence
}

// run finds the types, and calls. What reflection said some time ago may be out of date: then it is asked once more.
func (c *call) run(ctx context.Context, sets *sets) (json.RawMessage, error) {
	service, method := c.names()
	for again := false; ; again = true {
		s, err := c.schema(ctx, sets, service)
		if err != nil {
			return nil, err
		}
		c.quiet.heard()
		md := s.service.Methods().ByName(protoreflect.Name(method))
		s.types.ctx = ctx
		switch {
		case md == nil:
			err = unknownMethod("%s has no method %s: it has %s", service, method, methods(s.service))
		case md.IsStreamingClient():
			return nil, activity.NewError(activity.CodeInput, "grpc: %s takes a stream of requests: only unary and server-streaming calls can be made", c.Method)
		default:
			var request *dynamicpb.Message
			if request, err = c.request(md, s.types); err == nil {
				return c.answer(ctx, md, request, s.types)
			}
		}
		if again || c.Descriptors != "" {
			return nil, err
		}
		c.conn.types.forget(service)
	}
}

// schema finds what is known of the service.
func (c *call) schema(ctx context.Context, sets *sets, service string) (*schema, error) {
	var s *schema
	var err error
	if c.Descriptors != "" {
		s, err = sets.find(c.Descriptors, service)
	} else if s, err = c.conn.types.find(ctx, c.conn, service); err != nil {
		err = schemaError(c.block, err)
	}
	if err != nil {
		return nil, err
	}
	own := *s // the resolver gets the context of this call
	return &own, nil
}

func methods(s protoreflect.ServiceDescriptor) string {
	var b bytes.Buffer
	for i := range s.Methods().Len() {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(s.Methods().Get(i).Name()))
	}
	return b.String()
}

// request makes the message that is sent.
func (c *call) request(md protoreflect.MethodDescriptor, types resolver) (*dynamicpb.Message, error) {
	m := dynamicpb.NewMessage(md.Input())
	if err := (protojson.UnmarshalOptions{Resolver: types}).Unmarshal(c.Message, m); err != nil {
		return nil, activity.NewError(activity.CodeInput, "grpc: message does not fit %s: %v", md.Input().FullName(), err)
	}
	return m, nil
}

// answer sends the request and reads what comes.
func (c *call) answer(ctx context.Context, md protoreflect.MethodDescriptor, request proto.Message, types resolver) (json.RawMessage, error) {
	path := "/" + c.Method
	bound := grpc.MaxCallRecvMsgSize(int(c.limit))
	if !md.IsStreamingServer() {
		m := dynamicpb.NewMessage(md.Output())
		if err := c.conn.Invoke(ctx, path, request, m, bound); err != nil {
			return nil, err
		}
		return c.json(m, types, nil)
	}
	stream, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, path, bound)
	if err != nil {
		return nil, err
	}
	if err := stream.SendMsg(request); err != nil && !errors.Is(err, io.EOF) { // EOF: the status comes with RecvMsg
		return nil, err
	}
	if err := stream.CloseSend(); err != nil {
		return nil, err
	}
	out := []byte("[")
	for {
		m := dynamicpb.NewMessage(md.Output())
		if err := stream.RecvMsg(m); errors.Is(err, io.EOF) {
			return append(out, ']'), nil
		} else if err != nil {
			return nil, err
		}
		c.quiet.heard()
		c.task.Heartbeat("message")
		if len(out) > 1 {
			out = append(out, ',')
		}
		if out, err = c.json(m, types, out); err != nil {
			return nil, err
		}
	}
}

// json appends a message to a text. Numbers of 64 bits are texts, as protobuf has it in JSON.
func (c *call) json(m proto.Message, types resolver, out []byte) ([]byte, error) {
	text, err := protojson.MarshalOptions{Resolver: types, EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "the answer cannot be written as JSON: %v", err)
	}
	if int64(len(out)+len(text)) > c.limit {
		return nil, activity.TooLarge(c.limit)
	}
	b := bytes.NewBuffer(out)
	if err := json.Compact(b, text); err != nil { // protobuf varies the space between, so that nobody counts on it
		return nil, err
	}
	return b.Bytes(), nil
}
