// Package activitytest checks that a kind of activity keeps the contract of package activity: it ends by its deadline and when it is
// cancelled, its errors are typed, it passes the idempotency key on, what it leaves behind holds no secret, it reads no more of an answer than
// it may, and it leaves no goroutine behind.
//
// The test of a kind makes a Subject, the kind with a peer that it really calls, and hands it to Run:
//
//	func TestContract(t *testing.T) { activitytest.Run(t, open) }
package activitytest
