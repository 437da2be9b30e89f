package wovyr

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/wovyr/wovyr/pkg/aws/stack"
)

// queue is a queue and where its messages go that nobody could handle.
type queue struct {
	awssqs.Queue
	dead awssqs.Queue
	// name is what alarms call it.
	name string
}

func seconds(d time.Duration) awscdk.Duration {
	return awscdk.Duration_Seconds(jsii.Number(d.Seconds()))
}

// queue makes a queue whose messages stay hidden for as long as the function that takes them may run.
func (w *Wovyr) queue(id string, fifo bool, handler time.Duration) queue {
	dead := w.deadLetters(id+"DeadLetters", fifo)
	p := w.queueProps(fifo)
	p.VisibilityTimeout = seconds(handler)
	p.DeadLetterQueue = &awssqs.DeadLetterQueue{Queue: dead, MaxReceiveCount: jsii.Number(stack.MaxReceives)}
	return queue{Queue: awssqs.NewQueue(w.Construct, jsii.String(id), p), dead: dead, name: id}
}

// deadLetters makes a queue for what nobody could handle.
func (w *Wovyr) deadLetters(id string, fifo bool) awssqs.Queue {
	p := w.queueProps(fifo)
	p.RetentionPeriod = seconds(stack.DeadLife)
	return awssqs.NewQueue(w.Construct, jsii.String(id), p)
}

func (w *Wovyr) queueProps(fifo bool) *awssqs.QueueProps {
	p := &awssqs.QueueProps{EnforceSSL: jsii.Bool(true), RetentionPeriod: seconds(stack.MessageLife), RemovalPolicy: w.removal, Encryption: awssqs.QueueEncryption_SQS_MANAGED}
	if w.Key != nil {
		p.Encryption, p.EncryptionMasterKey, p.DataKeyReuse = awssqs.QueueEncryption_KMS, w.Key, awscdk.Duration_Hours(jsii.Number(1))
	}
	if fifo { // only a group is in order: different executions never wait for each other
		p.Fifo, p.FifoThroughputLimit, p.DeduplicationScope = jsii.Bool(true), awssqs.FifoThroughputLimit_PER_MESSAGE_GROUP_ID, awssqs.DeduplicationScope_MESSAGE_GROUP
	}
	return p
}
