// Package webhook reads the requests that services send to webhooks: who sent one (Verify), which delivery it is (Delivery), what the sender calls it
// (EventType), and what it says (Value). It knows the forms of the common senders by their headers, and keeps nothing.
package webhook
