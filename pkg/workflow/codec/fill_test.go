package codec_test

import (
	"fmt"
	"reflect"

	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// chooser picks numbers; a rapid.T in properties, a counter in golden tests.
type chooser interface {
	number(label string, below int) int
}

// counter gives each field another value, the same in each run.
type counter struct{ n int }

func (c *counter) number(_ string, below int) int {
	c.n++
	return c.n % below
}

// filled returns a new value of the type of sample with every field set as the chooser says.
func filled[T any](sample T, c chooser) T {
	v := reflect.New(reflect.TypeOf(sample)).Elem()
	fill(v, c, 6)
	return v.Interface().(T)
}

var (
	valueType    = reflect.TypeFor[workflow.Value]()
	workflowType = reflect.TypeFor[fsm.WorkflowState]()
	activityType = reflect.TypeFor[fsm.ActivityState]()
)

func fill(v reflect.Value, c chooser, depth int) {
	switch v.Type() {
	case valueType:
		texts := []string{`null`, `{"a":[1,2.5,"<é>"]}`, `"text"`, `7`}
		v.SetBytes([]byte(texts[c.number("value", len(texts))]))
		return
	case workflowType:
		state, err := fsm.WorkflowStateFromCode(uint8(1 + c.number("state", 10)))
		if err != nil {
			panic(err)
		}
		v.Set(reflect.ValueOf(state))
		return
	case activityType:
		state, err := fsm.ActivityStateFromCode(uint8(1 + c.number("state", 7)))
		if err != nil {
			panic(err)
		}
		v.Set(reflect.ValueOf(state))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("cbor") != "-" {
				fill(v.Field(i), c, depth)
			}
		}
	case reflect.Pointer:
		if depth > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), c, depth-1)
		}
	case reflect.Slice:
		if depth > 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1+c.number("length", 2), 2))
			for i := range v.Len() {
				fill(v.Index(i), c, depth-2)
			}
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("%s-%d", v.Type().Name(), c.number("text", 1000)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(1 + c.number("int", 1<<40)))
	case reflect.Uint8:
		v.SetUint(uint64(1 + c.number("small", 4)))
	case reflect.Uint16, reflect.Uint64:
		v.SetUint(uint64(1 + c.number("uint", 1<<15)))
	default:
		panic("fill has no case for " + v.Type().String())
	}
}

// everyEvent has a sample of each type of event.
var everyEvent = []workflow.Event{
	workflow.WorkflowCreated{}, workflow.WorkflowValidated{}, workflow.WorkflowScheduled{}, workflow.WorkflowStarted{},
	workflow.WorkflowPaused{}, workflow.WorkflowResumed{}, workflow.WorkflowContinued{}, workflow.WorkflowCompleted{},
	workflow.WorkflowFailed{}, workflow.WorkflowCancelled{}, workflow.CompensationStarted{}, workflow.CompensationCompleted{},
	workflow.ActivityReady{}, workflow.ActivityScheduled{}, workflow.ActivityStarted{}, workflow.ActivityCompleted{},
	workflow.ActivityFailed{}, workflow.ActivityRetried{}, workflow.ActivitySkipped{}, workflow.ActivityCaught{},
	workflow.ActivityPending{}, workflow.AgentTurn{}, workflow.JoinCounted{}, workflow.ScopeOpened{}, workflow.ScopeClosed{},
	workflow.ScopeEnding{}, workflow.ItemsSet{}, workflow.IterationDelayed{}, workflow.VariablesSet{}, workflow.EventEmitted{},
	workflow.TimerSet{}, workflow.TimerFired{}, workflow.TimeoutFired{}, workflow.LeaseExpired{}, workflow.EventAwaited{},
	workflow.EventReceived{}, workflow.EventTaken{}, workflow.TaskCreated{}, workflow.TaskReminded{}, workflow.TaskEscalated{},
	workflow.TaskDecided{}, workflow.ChildRequested{}, workflow.ChildStarted{}, workflow.ChildEnded{}, workflow.CancelRequested{},
	workflow.OutcomeDecided{}, workflow.FailureHeld{}, workflow.OperatorMoved{}, workflow.CompensationStopped{}, workflow.OwnershipChanged{}, workflow.BoundReached{},
}
