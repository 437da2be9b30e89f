// Package connect finds a deployment of Wovyr by the name of its CloudFormation stack, and calls its API as the caller's own identity of AWS
// allows: signed by signature version 4, with a token, or as it is. `wovyr --stack NAME` is built on it.
//
// A program of one's own needs three lines:
//
//	cfg, err := connect.Load(ctx)              // region, profile, credentials: as the AWS command line has them
//	stack, err := connect.Find(ctx, cfg, "wovyr")
//	c, err := stack.Client(os.Getenv("WOVYR_TOKEN"))
//
// Where the address is known, no right to read the stack is needed: give client.Client a Signer (ExampleSigner).
package connect
