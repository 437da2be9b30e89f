// Package stack is what the functions of the AWS platform and the CDK stack that deploys them agree on: names of environment variables,
// names of outputs, and the limits that must be the same on both sides. It depends on nothing, so that both can import it.
package stack
