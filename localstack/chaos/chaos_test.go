package chaos

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	tables "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/awsproxy"
	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

var (
	name    = flag.String("stack", "", "name of the deployed stack; empty: nothing is tested")
	seed    = flag.Uint64("seed", 1, "the first seed")
	seeds   = flag.Int("seeds", 1, "how many seeds are run, one after the other")
	minutes = flag.Float64("minutes", 1, "how long faults last, for each seed")
	// patience is how long after the last fault everything may take to come to its end.
	patience = flag.Duration("patience", 6*time.Minute, "how long after the last fault everything may take to end")
	rate     = flag.Float64("rate", 0.08, "the share of calls that suffer")
)

func TestChaos(t *testing.T) {
	if *name == "" {
		t.Skip("no stack: deploy one and name it, as make aws-chaos does: go test ./localstack/chaos -args -stack wovyr")
	}
	for i := range *seeds {
		s := *seed + uint64(i)
		if !t.Run(fmt.Sprint("seed ", s), func(t *testing.T) { (&run{T: t, seed: s}).all() }) {
			break // what was left behind would be found again
		}
	}
}

// run is one seed.
type run struct {
	*testing.T
	seed    uint64
	name    string
	d       *deployment
	effects *effects
	stream  *stream
	actors  []*actor
	// older are the dead letters that were there before, by ID.
	older map[string]bool
	// moved counts the messages that were sent again from queues of dead letters.
	moved int
}

// all lets faults and executions run, and looks what they have come to.
func (r *run) all() {
	r.d = open(r.T)
	r.name = strconv.FormatInt(time.Now().UnixNano(), 36)
	r.effects = newEffects(r.T, r.seed, r.d.wire)
	r.older = map[string]bool{}
	r.eachLetter(func(l client.DeadLetter) { r.older[l.ID] = true })
	r.impatient()
	endpoint := aws.ToString(r.d.cfg.BaseEndpoint)
	proxy, err := awsproxy.Start(endpoint)
	require.NoError(r, err)
	r.Cleanup(proxy.Close)
	detach, err := proxy.Attach(r.Context(), r.d.cfg, *name, map[string]string{stack.EnvEgress: strings.TrimPrefix(r.effects.URL, "http://")})
	require.NoError(r, err)
	r.Cleanup(func() { require.NoError(r, detach(context.WithoutCancel(r.Context()))) })
	r.stream = r.d.stream(r.T, r.seed)
	bus := r.listen()
	r.deploy()

	length := time.Duration(*minutes * float64(time.Minute))
	rounds := max(1, int(length/(15*time.Second)))
	if testing.Short() {
		length, rounds = 10*time.Second, 1
	}
	faults := &awsproxy.Faults{Rate: *rate, Outages: *rate / 40, Longest: 2 * time.Second}
	faults.Seed(r.seed)
	proxy.Suffer(faults)
	r.effects.faults.Store(true)
	r.stream.faults.Store(true)
	ctx, cancel := context.WithTimeout(r.Context(), length+*patience)
	defer cancel()
	var group sync.WaitGroup
	failures := make(chan error, 1000)
	each := time.NewTicker(length / time.Duration(rounds))
	defer each.Stop()
	r.poisonHistory()
	poisoned := 0
	for round := range rounds {
		for _, s := range stories {
			a := &actor{ctx: ctx, api: r.d.api, story: s, key: fmt.Sprintf("%s/%s/%d", r.name, s.name, round)}
			r.actors = append(r.actors, a)
			group.Go(func() {
				if err := a.start(); err != nil {
					failures <- err
				} else if s.play != nil {
					if err := s.play(a); err != nil {
						failures <- err
					}
				}
			})
		}
		poisoned += r.poison(round)
		select {
		case <-ctx.Done():
		case <-each.C:
		}
		r.sweep(ctx)
	}
	proxy.Suffer(nil)
	r.effects.faults.Store(false)
	r.stream.faults.Store(false)
	r.Logf("seed %d: %d executions; faults: %s", r.seed, len(r.actors), counted(faults.Counts()))
	still := time.Now()
	group.Wait()
	close(failures)
	for err := range failures {
		require.NoError(r, err)
	}
	r.ended(ctx)
	r.drained(ctx)
	r.Logf("everything had ended %s after the last fault; %d messages were sent again from queues of dead letters", time.Since(still).Round(time.Second), r.moved)
	r.check(poisoned)
	r.announced(bus)
}

func counted(counts map[awsproxy.Fault]int) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprint(k, " ", counts[k]))
	}
	return strings.Join(out, ", ")
}

// impatient shortens how long queues hide a message: after a kill it comes again then. On AWS it is as long as a function may run, since a function that
// falls silent may still be at work; here a slow one meets its own message. And it lets a message come five times, and not a hundred, before its
// queue takes it for dead.
func (r *run) impatient() {
	client := sqs.NewFromConfig(r.d.cfg)
	for _, url := range r.d.queues() { // order-free: each queue for itself
		old, err := client.GetQueueAttributes(r.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameVisibilityTimeout, types.QueueAttributeNameRedrivePolicy}})
		require.NoError(r, err)
		set := func(ctx context.Context, attributes map[string]string) {
			_, err := client.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: &url, Attributes: attributes})
			require.NoError(r, err)
		}
		var policy struct {
			Target string `json:"deadLetterTargetArn"`
		}
		require.NoError(r, json.Unmarshal([]byte(old.Attributes["RedrivePolicy"]), &policy))
		set(r.Context(), map[string]string{"VisibilityTimeout": "10", "RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":5}`, policy.Target)})
		r.Cleanup(func() { set(context.WithoutCancel(r.Context()), old.Attributes) })
	}
}

// deploy deploys the workflows of all stories.
func (r *run) deploy() {
	for _, s := range stories {
		text := "dsl: wovyr/v1\nname: " + workflowName(r.name, s.name) + "\n" +
			strings.NewReplacer("URL", r.effects.URL, "RETRY", retrying, "CHILD", workflowName(r.name, "child")).Replace(s.steps)
		_, err := r.d.api.Deploy(r.Context(), s.name+".yaml", []byte(text))
		require.NoError(r, err, "%s", text)
	}
}

// sweep looks for executions that should have moved, which the rule does each minute.
func (r *run) sweep(ctx context.Context) (swept struct{ Looked, Repaired, Stuck, Unfinished int }) {
	if failed, err := r.d.invoke(ctx, "Timer", map[string]string{"wovyr": stack.SweepEvent}, &swept); err != nil || failed {
		swept.Unfinished = 1
	}
	return swept
}

// ended waits until all executions have ended, and sweeps meanwhile.
func (r *run) ended(ctx context.Context) {
	open := r.actors
	again := time.NewTicker(2 * time.Second)
	defer again.Stop()
	for {
		var left []*actor
		for _, a := range open {
			if e, err := r.d.api.Get(ctx, a.id); err != nil || !e.Ended() {
				left = append(left, a)
			}
		}
		if open = left; len(open) == 0 {
			return
		}
		r.redrive(ctx)
		r.sweep(ctx)
		select {
		case <-ctx.Done():
			for _, a := range open {
				e, err := r.d.api.Get(r.Context(), a.id)
				r.Errorf("%s (%s) is %s, %v, %v", a.key, a.id, e.Status, e.Waiting, err)
				r.tell(a.id)
			}
			r.FailNow()
		case <-again.C:
		}
	}
}

// tell logs a history.
func (r *run) tell(id string) {
	for _, e := range r.history(id) {
		r.Logf("    %3d %s %-22s %-14s %d %s %s", e.Version, e.At.Format("15:04:05.000"), e.Type, e.Step, e.Attempt, e.Worker, e.Data)
	}
}

// drained waits until all queues are empty, but for timers that are not due yet: those of deadlines that nobody missed.
func (r *run) drained(ctx context.Context) {
	client := sqs.NewFromConfig(r.d.cfg)
	again := time.NewTicker(look)
	defer again.Stop()
	const delayed = types.QueueAttributeNameApproximateNumberOfMessagesDelayed
	kinds := []types.QueueAttributeName{types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible, delayed}
	for {
		r.redrive(ctx)
		full := map[string]map[string]string{}
		for queue, url := range r.d.queues() { // order-free: a map again
			got, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: kinds})
			for _, k := range kinds {
				if err != nil || got.Attributes[string(k)] != "0" && (queue != "timers" || k != delayed) {
					full[queue] = map[string]string{"error": fmt.Sprint(err)}
					if err == nil {
						full[queue] = got.Attributes
					}
				}
			}
		}
		if len(full) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			require.Empty(r, full, "these queues do not drain")
		case <-again.C:
		}
	}
}

// history returns the events of an execution.
func (r *run) history(id string) []client.Event {
	var out []client.Event
	for after := ""; ; {
		page, err := r.d.api.History(r.Context(), id, after)
		require.NoError(r, err)
		out = append(out, page.Items...)
		if after = page.Next; after == "" {
			return out
		}
	}
}

// redrive sends what is in the queues of dead letters to where it came from, as an operator does once the cause is gone (on AWS by StartMessageMoveTask, which
// the emulator has not).
func (r *run) redrive(ctx context.Context) {
	client := sqs.NewFromConfig(r.d.cfg)
	for queue, url := range r.d.queues() { // order-free: each queue for itself
		dead := r.d.resource(r.T, "Wovyr"+strings.ToUpper(queue[:1])+queue[1:]+"DeadLetters")
		for {
			got, err := client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &dead, MaxNumberOfMessages: 10, VisibilityTimeout: 30,
				MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameMessageGroupId}})
			if err != nil || len(got.Messages) == 0 {
				break
			}
			for _, m := range got.Messages {
				in := &sqs.SendMessageInput{QueueUrl: &url, MessageBody: m.Body}
				if group := m.Attributes["MessageGroupId"]; group != "" {
					in.MessageGroupId = &group
				}
				if strings.HasSuffix(url, ".fifo") {
					in.MessageDeduplicationId = aws.String(fmt.Sprint("redrive-", r.name, r.moved))
				}
				_, err := client.SendMessage(ctx, in)
				require.NoError(r, err)
				_, err = client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &dead, ReceiptHandle: m.ReceiptHandle})
				require.NoError(r, err)
				r.moved++
			}
		}
	}
}

// poisonHistory puts an item among the commits that is none: the publisher cannot read it, and must not stop at it.
func (r *run) poisonHistory() {
	table := r.d.functions["Activity"][stack.EnvHistoryTable]
	key := map[string]tables.AttributeValue{schema.Partition: &tables.AttributeValueMemberS{Value: schema.CommitPartition + "poison"}, schema.Sort: &tables.AttributeValueMemberS{Value: schema.CommitSort + r.name}}
	store := dynamodb.NewFromConfig(r.d.cfg)
	_, err := store.PutItem(r.Context(), &dynamodb.PutItemInput{TableName: &table, Item: key})
	require.NoError(r, err)
	r.Cleanup(func() {
		_, err := store.DeleteItem(context.WithoutCancel(r.Context()), &dynamodb.DeleteItemInput{TableName: &table, Key: key})
		require.NoError(r, err)
	})
}

// poison puts a message that is none into each queue, and returns how many.
func (r *run) poison(round int) int {
	queues := r.d.queues()
	for _, queue := range slices.Sorted(maps.Keys(queues)) {
		url := queues[queue]
		in := &sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("poison of " + r.name)}
		if strings.HasSuffix(url, ".fifo") {
			in.MessageGroupId, in.MessageDeduplicationId = aws.String("poison"), aws.String(fmt.Sprint(r.name, round))
		}
		_, err := sqs.NewFromConfig(r.d.cfg).SendMessage(r.Context(), in)
		require.NoError(r, err)
	}
	return len(queues)
}

// compact is JSON without spaces.
func compact(text json.RawMessage) string { return strings.ReplaceAll(string(text), " ", "") }
