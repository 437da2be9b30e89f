package deployment

import (
	"context"
	"fmt"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go/middleware"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/aws/meter"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

// sdk is the configuration of a function's clients: metered, slowed down, and watched.
func (f *function) sdk() sdk.Config {
	c := f.d.plain.Copy()
	c.APIOptions = append(c.APIOptions, func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("WovyrDeployment", f.call), middleware.Before)
	})
	f.d.meter.Install(&c)
	return c
}

// call lets a call take its time, half before and half after its effect, and sees to what follows from it.
func (f *function) call(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	ctx = meter.With(ctx, meter.Label{Step: f.name}) // some calls are made under no invocation's context
	name := strings.TrimSuffix(fmt.Sprintf("%T", in.Parameters), "Input")
	figure, known := calls[name]
	require.True(f.d.t, known, "the model does not say how long %s takes", name)
	took := f.d.dice.draw(figure)
	f.think(cpuCall)
	time.Sleep(took / 2)
	send, is := in.Parameters.(*sqs.SendMessageBatchInput)
	if is && delayed(send) {
		f.d.bill(ctx, send, nil)
		out := middleware.InitializeOutput{Result: f.d.later(send)}
		time.Sleep(took / 2)
		return out, middleware.Metadata{}, nil
	}
	out, metadata, err := next.HandleInitialize(ctx, in)
	time.Sleep(took / 2)
	if err == nil {
		f.d.follow(ctx, in.Parameters)
	}
	return out, metadata, err
}

// follow is what AWS does after a call that succeeded.
func (d *Deployment) follow(ctx context.Context, in any) {
	switch in := in.(type) {
	case *sqs.SendMessageBatchInput:
		for range in.Entries {
			d.mappings[*in.QueueUrl].arrive(0)
		}
	case *sqs.ChangeMessageVisibilityInput:
		d.mu.Lock()
		d.hidden[*in.ReceiptHandle] = time.Duration(in.VisibilityTimeout) * time.Second
		d.mu.Unlock()
	case *scheduler.CreateScheduleInput:
		at, err := time.Parse("at(2006-01-02T15:04:05)", *in.ScheduleExpression)
		require.NoError(d.t, err)
		url := d.queueAt(*in.Target.Arn)
		d.bill(ctx, &sqs.SendMessageInput{QueueUrl: &url, MessageBody: in.Target.Input}, nil) // by the Scheduler
		d.put(time.Until(at), url, sqstypes.SendMessageBatchRequestEntry{MessageBody: in.Target.Input})
	case *dynamodb.PutItemInput:
		if *in.TableName == d.config.HistoryTable {
			d.committed(in.Item)
			d.stream.record(in.Item)
		}
	}
}

// committed notes the time of a commit.
func (d *Deployment) committed(item map[string]types.AttributeValue) {
	p := item[schema.Partition].(*types.AttributeValueMemberS).Value
	id, is := strings.CutPrefix(p, schema.CommitPartition+Tenant+"/")
	if !is {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.commits[id]
	if c.last = time.Now(); c.first.IsZero() {
		c.first = c.last
	}
	d.commits[id] = c
}

// bill meters a call that is made for us: by an event source mapping, or by EventBridge Scheduler.
func (d *Deployment) bill(ctx context.Context, in, out any) {
	d.meter.Count(ctx, in, out)
}

// delayed reports whether messages are to wait. A queue waits in real time, so the deployment does it instead.
func delayed(in *sqs.SendMessageBatchInput) bool {
	for _, e := range in.Entries {
		if e.DelaySeconds > 0 {
			return true
		}
	}
	return false
}

// later puts messages into their queue when their delays are over, and answers as the service does.
func (d *Deployment) later(in *sqs.SendMessageBatchInput) *sqs.SendMessageBatchOutput {
	out := &sqs.SendMessageBatchOutput{}
	for _, e := range in.Entries {
		d.put(time.Duration(e.DelaySeconds)*time.Second, *in.QueueUrl, e)
		out.Successful = append(out.Successful, sqstypes.SendMessageBatchResultEntry{Id: e.Id, MessageId: sdk.String("later")})
	}
	return out
}
