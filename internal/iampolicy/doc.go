// Package iampolicy decides what policies of AWS IAM allow, for tests of rights: an emulator refuses nothing, and nobody sees a missing right before
// AWS does. It knows identity policies, which is what roles of functions have: Allow and Deny, actions and resources with wildcards, and the
// conditions that our policies use. What it does not know is an error and no guess.
//
// The rules are those of IAM's reference of policy elements: an explicit Deny goes before every Allow, and what no statement allows is refused.
package iampolicy
