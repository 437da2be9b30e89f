// Package schema checks values against the JSON Schemas that workflows declare: inputs, results, events, answers. Schemas are compiled once
// and kept; they refer to nothing outside themselves (package dsl sees to that, and nothing is ever loaded here).
package schema
