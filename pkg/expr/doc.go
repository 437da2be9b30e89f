// Package expr is the expression language of Wovyr workflows: CEL with optionals, bounded in cost,
// without clock, randomness or I/O, and with one result for ever.
//
// It has three forms, each with a static half for the compiler of definitions (package dsl) and a
// run-time half for decisions (package engine):
//
//   - Expr, one expression:   Compile checks it against a Scope; Load takes it from a definition.
//   - Template, a JSON value whose strings may hold ${ … }: CompileTemplate, Template.Render.
//   - Pattern, the `like` of a match case: CompilePattern, Pattern.Match.
//
// Definitions store them as workflow.Expr and workflow.Template. Programs are cached by source, so
// callers hold those and call Load when they need a program. What is checked never changes what is computed: a
// program carries no types, and a changed schema cannot change a result.
//
// An evaluation reads its names from an Activation: a function from root name to Binding, asked
// at most once a name. Results are canonical JSON (Canonical); values kept by reference and
// secrets pass through as holes of a workflow.Payload.
//
// Errors are *workflow.Error of category workflow with details {expr, line, column}; the codes are
// the constants Code….
package expr
