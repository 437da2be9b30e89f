package aws

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/wovyr/wovyr/pkg/aws/stack"
)

// Config is what a function knows of its deployment. FromEnvironment reads it.
type Config struct {
	HistoryTable, CatalogueTable, IndexTable string
	PayloadBucket, ArchiveBucket             string
	// InboxQueue, TimersQueue and TasksQueues (by class) are URLs.
	InboxQueue, TimersQueue, EventsQueue string
	// UnpublishedQueue is where changes go that the publisher could not handle; only the publisher knows it.
	UnpublishedQueue string
	TasksQueues      map[string]string
	TimersQueueARN   string
	SchedulerGroup   string
	SchedulerRole    string
	Bus              string
	// Routes say which functions which class runs.
	Routes []stack.Route
	// Senders are the worker classes that may only answer, by the unique ID of the role as which they send.
	Senders map[string]string
	// Timeouts are how long functions of classes may run, and Invoke is which Lambda functions steps may call.
	Timeouts map[string]time.Duration
	Invoke   []string
	// Class is the worker class of an activity function. Commits says that it may write histories.
	Class   string
	Commits bool
	// TokenKey is the ARN of the secret that signs tokens; URL is where the API is reached.
	TokenKey, URL       string
	Tenant, TenantClaim string
	SecretsPrefix       string
	Retention           time.Duration
	LogLevel            slog.Level
}

// FromEnvironment reads the variables that the stack sets. What is missing or wrong is an error that names all of it.
func FromEnvironment() (Config, error) {
	return readConfig(os.Environ())
}

func readConfig(environ []string) (Config, error) {
	env := map[string]string{}
	c := Config{TasksQueues: map[string]string{}}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
		if class, ok := strings.CutPrefix(name, stack.EnvTasksQueue("")); ok && value != "" {
			c.TasksQueues[classOf(class)] = value
		}
	}
	c.Class, c.Commits = env[stack.EnvClass], env[stack.EnvCommits] != "false"
	var wrong []error
	for name, to := range map[string]*string{ // order-free: sorted below
		stack.EnvHistoryTable: &c.HistoryTable, stack.EnvCatalogueTable: &c.CatalogueTable, stack.EnvIndexTable: &c.IndexTable,
		stack.EnvPayloadBucket: &c.PayloadBucket, stack.EnvArchiveBucket: &c.ArchiveBucket, stack.EnvInboxQueue: &c.InboxQueue, stack.EnvTimersQueue: &c.TimersQueue, stack.EnvEventsQueue: &c.EventsQueue,
		stack.EnvUnpublishedQueue: &c.UnpublishedQueue,
		stack.EnvTimersQueueARN:   &c.TimersQueueARN, stack.EnvSchedulerGroup: &c.SchedulerGroup, stack.EnvSchedulerRole: &c.SchedulerRole, stack.EnvBus: &c.Bus,
		stack.EnvTokenKey: &c.TokenKey, stack.EnvURL: &c.URL, stack.EnvTenant: &c.Tenant, stack.EnvTenantClaim: &c.TenantClaim, stack.EnvSecrets: &c.SecretsPrefix,
	} {
		*to = env[name]
		if *to == "" && needed(name, c.Commits) {
			wrong = append(wrong, fmt.Errorf("%s is not set", name))
		}
	}
	if c.Tenant == "" {
		c.Tenant = "default"
	}
	var err error
	if c.Routes, err = parseRoutes(env[stack.EnvRoutes]); err != nil {
		wrong = append(wrong, fmt.Errorf("%s: %w", stack.EnvRoutes, err))
	}
	if c.Senders, err = parseSenders(env[stack.EnvSenders]); err != nil {
		wrong = append(wrong, fmt.Errorf("%s: %w", stack.EnvSenders, err))
	}
	if c.Timeouts, err = parseTimeouts(env[stack.EnvTimeouts]); err != nil {
		wrong = append(wrong, fmt.Errorf("%s: %w", stack.EnvTimeouts, err))
	}
	if arns := env[stack.EnvInvoke]; arns != "" {
		c.Invoke = strings.Split(arns, ",")
	}
	if r := env[stack.EnvRetention]; r != "" {
		if c.Retention, err = time.ParseDuration(r); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", stack.EnvRetention, err))
		} else if c.Retention < stack.MinRetention {
			wrong = append(wrong, fmt.Errorf("%s is %s: it must be at least %s, longer than queues keep messages", stack.EnvRetention, r, stack.MinRetention))
		}
	}
	if l := env[stack.EnvLogLevel]; l != "" {
		if err := c.LogLevel.UnmarshalText([]byte(l)); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", stack.EnvLogLevel, err))
		}
	}
	if len(wrong) > 0 {
		slices.SortFunc(wrong, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
		return c, fmt.Errorf("aws: the function's environment is not what the stack sets; deploy it again: %w", errors.Join(wrong...))
	}
	return c, nil
}

// needed reports whether a variable must be set. A function that may not commit knows less.
func needed(name string, commits bool) bool {
	switch name {
	case stack.EnvHistoryTable, stack.EnvPayloadBucket, stack.EnvInboxQueue:
		return true
	case stack.EnvUnpublishedQueue, stack.EnvTenant, stack.EnvTenantClaim, stack.EnvURL, stack.EnvSecrets:
		return false
	}
	return commits
}

// classOf undoes stack.EnvTasksQueue, for names of classes are of lower case letters, digits and hyphens.
func classOf(suffix string) string { return strings.ReplaceAll(strings.ToLower(suffix), "_", "-") }
