package stack

import (
	"strings"
	"time"
)

// Deployment is what is known of where workflows run.
type Deployment struct {
	// Routes give functions to worker classes, the first that fits.
	Routes []Route
	// Timeouts are how long the functions of classes may run, where that is not ActivityTimeout.
	Timeouts map[string]time.Duration
	// Functions are the functions of the engine's own class.
	Functions []string
	// Invoke are the ARNs, with * if need be, of the Lambda functions that steps may call.
	Invoke []string
	// Unknown says that the others are not known: nothing can be said of names then.
	Unknown bool
}

// Route gives functions to a worker class.
type Route struct {
	// Functions is a name, or a prefix that ends in *.
	Functions string
	Class     string
}

func (r Route) takes(name string) bool {
	if prefix, ok := strings.CutSuffix(r.Functions, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return r.Functions == name
}

// ClassOf is the worker class that a route gives a function to, or "".
func (d Deployment) ClassOf(name string) string {
	for _, r := range d.Routes {
		if r.takes(name) {
			return r.Class
		}
	}
	return ""
}

// Longest is how long an attempt may run in a class: the function's timeout less what it needs to answer. It is the limit of a step without a timeout of
// its own too.
func (d Deployment) Longest(class string) time.Duration {
	timeout, ok := d.Timeouts[class]
	if !ok {
		timeout = ActivityTimeout
	}
	return timeout - min(AnswerMargin, timeout/2)
}
