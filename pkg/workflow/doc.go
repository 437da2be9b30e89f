// Package workflow holds the nouns that all other packages speak: the compiled Definition of a workflow, values and
// their payloads, typed errors, and the events, inputs, commands and state of an execution.
//
// It decides nothing: package engine has the verbs. It reads no documents: package dsl makes Definitions. Its codec
// subpackage turns events and state into bytes. Everything here is plain data with stable names on the wire; of the
// repository it imports fsm alone.
//
// Start reading at Definition (what can happen), Event (what has happened) and State (what is the case).
package workflow
