// Package builtin is the registry of the kinds that every deployment has: functions (with std and by URL), http, grpc and script. Both platforms
// take it, so that a workflow finds the same kinds on one machine and on AWS.
package builtin
