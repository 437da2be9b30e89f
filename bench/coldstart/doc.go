// Command coldstart measures how long the functions of the AWS platform take from the start of their process until they ask for their first invocation,
// which is the part of a cold start that is ours (Lambda's "Init Duration"), and how large their binaries are.
//
//	go run ./bench/coldstart                 # or make bench-coldstart
//	go run ./bench/coldstart -runs 50 -trace orchestrator
//
// The functions are compiled as the stack compiles them, for this machine, and run against a server of Lambda's runtime API on this machine: the time is that
// from exec to GET /2018-06-01/runtime/invocation/next. Each run is a process of its own. What Lambda does before (fetching the code, starting the sandbox) is
// not in it, and a processor of Lambda's is slower or faster than this one: memory of 1,769 MB is one whole core there, and during Init a function
// has more than its share.
package main
