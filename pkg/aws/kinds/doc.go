// Package kinds is what the engine's own activity function runs: the built-in kinds of activities, and `function: { arn: … }`. It stands apart from
// package aws, for only that function needs interpreters and clients of other protocols: the others start without them.
package kinds
