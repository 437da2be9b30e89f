package aws

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
)

// timers is worker.Timers: a delayed SQS message where that reaches, else an entry of EventBridge Scheduler (commit protocol, point 11).
type timers struct {
	queue
	clock     worker.Clock
	scheduler *scheduler.Client
	// group and role are the entries' own, queueARN is whom they send to.
	group, role, queueARN string
}

// Entries fire early, spread by hash so that what thousands wait for at noon does not come at once, and are then delayed exactly.
const (
	leastEarly = time.Minute
	mostEarly  = 13 * time.Minute
)

// Arm implements worker.Timers. Coarse timers are the sweep's.
func (t *timers) Arm(ctx context.Context, s eventstore.Stream, at int64, coarse bool) error {
	rest := time.Duration(at - t.clock.Now())
	switch {
	case rest <= stack.MaxDelay:
		return t.delay(ctx, alarm{Tenant: s.Tenant, Execution: s.ID, At: at}, rest)
	case coarse:
		return nil
	}
	return t.schedule(ctx, alarm{Tenant: s.Tenant, Execution: s.ID, At: at})
}

// delay sends the alarm so that it arrives when it is due or, if that is too far ahead, as late as the queue can.
func (t *timers) delay(ctx context.Context, a alarm, rest time.Duration) error {
	body, err := a.body()
	if err != nil {
		return err
	}
	return t.send(ctx, []sqstypes.SendMessageBatchRequestEntry{{MessageBody: &body, DelaySeconds: delaySeconds(rest)}})
}

// schedule creates the entry of an alarm, unless it is there. Entries are never moved or removed by hand: they go after they have fired.
func (t *timers) schedule(ctx context.Context, a alarm) error {
	body, err := a.body()
	if err != nil {
		return err
	}
	name := t.entryName(a)
	when := time.Unix(0, a.At-int64(early(name))).UTC()
	expression := "at(" + when.Format("2006-01-02T15:04:05") + ")"
	_, err = t.scheduler.CreateSchedule(ctx, &scheduler.CreateScheduleInput{
		Name: &name, GroupName: &t.group, ScheduleExpression: &expression, ActionAfterCompletion: types.ActionAfterCompletionDelete,
		FlexibleTimeWindow: &types.FlexibleTimeWindow{Mode: types.FlexibleTimeWindowModeOff},
		Target:             &types.Target{Arn: &t.queueARN, RoleArn: &t.role, Input: &body},
	})
	var there *types.ConflictException
	if err != nil && !errors.As(err, &there) {
		return passing(fmt.Sprintf("timer of %s", a.stream()), err)
	}
	return nil
}

// entryName names the entry of an execution and a time.
func (t *timers) entryName(a alarm) string {
	h := sha256.New()
	h.Write([]byte(groupOf(a.stream())))
	_ = binary.Write(h, binary.BigEndian, a.At) // it never fails
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// early is how long before its time an entry fires.
func early(name string) time.Duration {
	h := sha256.Sum256([]byte(name))
	spread := uint64(mostEarly - leastEarly)
	return leastEarly + time.Duration(binary.BigEndian.Uint64(h[:])%spread)
}
