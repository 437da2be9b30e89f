// Package e2e is what a user of the HTTP API sees of a deployment: scenarios that run on every platform, on one machine and on AWS, by nothing
// but the API. What only one platform can do stands beside it there.
package e2e
