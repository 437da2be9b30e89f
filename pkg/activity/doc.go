// Package activity is the common contract of everything a workflow can call (WF-001 §8): functions,
// HTTP and gRPC services, models, tools, scripts and kinds that users add.
//
// A kind is an Activity in a Registry. It gets a Task and answers with a Result or a typed *Error; it
// knows no engine and no history. The worker that runs it promises at least one run for each attempt, the same
// idempotency key for every run of a step, and a context that ends at the attempt's deadline or when
// the attempt is cancelled.
//
// Most users write Go functions and never see this contract:
//
//	reg.Functions.Add(activity.Func("inventory.reserve", reserve))
//
//	func reserve(ctx context.Context, in Order) (Reservation, error)
package activity
