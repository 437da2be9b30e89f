// Package dsl turns workflow documents into definitions.
//
// A document is YAML 1.2 or JSON in the language wovyr/v1 (docs/language.md). Compile reads it in three steps:
//
//   - load (load.go, scalar.go, node.go) makes a tree of nodes that know their places, within bounds that hold
//     for any bytes; sheet.go and source.go find places again, down to a character inside an expression.
//   - parse (parse.go, parse_step.go, parse_kind.go) first holds the tree against the table of the language, then
//     makes a workflow.Definition of it. The table (table.go, shape*.go, words*.go) is the one source of what words there are;
//     the JSON Schema for editors (Schema) and the reference page (Reference) come from it too.
//   - analyze (analyze.go) finds dependencies, names, types and the parts of outputs that are read.
//
// Every step reports all that it finds as a Diagnostic: a place, a stable code, what is wrong, and what to write instead.
// Render shows them with the line of the document.
//
// The package is pure: it knows no files, no clock and no network.
package dsl
