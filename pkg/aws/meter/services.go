package meter

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	ebtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// chunk is what SQS and EventBridge count as one.
const chunk = 64 << 10

func chunks(bytes int) float64 { return float64(max(1, (bytes+chunk-1)/chunk)) }

// ofMessages is what a call of SQS, EventBridge, Scheduler or Lambda used.
func ofMessages(in, out any) Usage {
	switch in := in.(type) {
	case *sqs.SendMessageInput:
		return unit(queueOf(in.QueueUrl, in.MessageGroupId != nil), chunks(len(aws.ToString(in.MessageBody))))
	case *sqs.SendMessageBatchInput:
		bytes, grouped := 0, false
		for _, e := range in.Entries {
			bytes += len(aws.ToString(e.MessageBody))
			grouped = grouped || e.MessageGroupId != nil
		}
		return unit(queueOf(in.QueueUrl, grouped), chunks(bytes))
	case *sqs.ReceiveMessageInput:
		bytes := 0
		if received, ok := out.(*sqs.ReceiveMessageOutput); ok {
			for _, m := range received.Messages {
				bytes += len(aws.ToString(m.Body))
			}
		}
		return unit(queueOf(in.QueueUrl, false), chunks(bytes))
	case *sqs.DeleteMessageInput:
		return unit(queueOf(in.QueueUrl, false), 1)
	case *sqs.DeleteMessageBatchInput:
		return unit(queueOf(in.QueueUrl, false), 1)
	case *sqs.ChangeMessageVisibilityInput:
		return unit(queueOf(in.QueueUrl, false), 1)
	case *sqs.ChangeMessageVisibilityBatchInput:
		return unit(queueOf(in.QueueUrl, false), 1)
	case *eventbridge.PutEventsInput:
		n := 0.0
		for _, e := range in.Entries {
			n += chunks(eventSize(e))
		}
		return unit(Event, n)
	case *scheduler.CreateScheduleInput: // calls are free; it will fire once
		return unit(Schedule, 1)
	case *lambda.InvokeInput:
		return unit(Invocation, 1)
	}
	return Usage{}
}

func queueOf(url *string, grouped bool) Unit {
	switch {
	case strings.HasSuffix(aws.ToString(url), ".fifo"):
		return FIFOQueue
	case grouped:
		return FairQueue
	}
	return Queue
}

// eventSize is what EventBridge counts of an entry.
func eventSize(e ebtypes.PutEventsRequestEntry) int {
	n := len(aws.ToString(e.Source)) + len(aws.ToString(e.DetailType)) + len(aws.ToString(e.Detail))
	for _, r := range e.Resources {
		n += len(r)
	}
	if e.Time != nil {
		n += 14
	}
	return n
}

// objectWrites are the operations of S3 that are billed as a put; those that remove are free.
var objectWrites = []string{"PutObject", "CopyObject", "ListObjectsV2", "ListObjects", "CreateMultipartUpload", "UploadPart", "UploadPartCopy", "CompleteMultipartUpload"}

// ofObjects is what a call of S3 used. An error of S3 is billed too, but for its own faults; whoever asks for what is not there pays.
func ofObjects(operation string, err error) Usage {
	switch {
	case slices.Contains(objectWrites, operation):
		return unit(ObjectWrite, 1)
	case strings.HasPrefix(operation, "Delete") || strings.HasPrefix(operation, "Abort"):
		return Usage{}
	}
	return unit(ObjectRead, 1)
}
